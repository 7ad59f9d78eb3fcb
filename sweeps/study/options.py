"""The options of the tables of the study."""

from train.config.validation import Natural, Section


class Options(Section):
    """The command line of `sweeps.study`, after the folders."""

    times: Natural = 4  # the training length
    seeds: Natural = 5  # that a sweep is planned with
    reference: str | None = None  # method
