"""Extensions: ways to use a trained encoding past its training length, one file each."""
