"""NTK by parts, first version (bloc97, 2023, https://github.com/jquesnelle/yarn/pull/1), YaRN's forerunner.

The fastest pairs are kept, the middle ones get the larger base of NTK, the slowest are
interpolated. The numbers of rotations at which one gives way to the next are the author's.
"""

from torch import Tensor

from models.extensions.frequencies import Frequencies, index_ramp
from models.extensions.ntk import ntk


class PartialNTK(Frequencies):
    def scaled(self, frequencies: Tensor, factor: float, base: float) -> Tensor:
        pairs = frequencies.numel()
        linear = index_ramp(1.25, 0.75, pairs, base, self.length)
        mixed = linear * frequencies / factor + (1 - linear) * ntk(frequencies, factor)
        changed = index_ramp(16, 2, pairs, base, self.length)
        return changed * mixed + (1 - changed) * frequencies
