"""NTK by parts, first version (bloc97, 2023, https://github.com/jquesnelle/yarn/pull/1), YaRN's forerunner.

The fastest pairs are kept, the middle ones get the larger base of NTK, the slowest are
interpolated. The numbers of rotations at which one gives way to the next are the author's.
"""

from torch import Tensor

from models.extensions.frequencies import Frequencies, index_ramp
from models.extensions.ntk import ntk


class PartialNTK(Frequencies):
    """Equation: (1 − c_f) θ_f + c_f (l_f θ_f/s + (1 − l_f) θ_f s^(−f/(D/2 − 1))), with ramps c_f and l_f from
    0 to 1."""

    def scaled(self, frequencies: Tensor, factor: float, base: float) -> Tensor:
        pairs = frequencies.numel()
        linear = index_ramp(1.25, 0.75, pairs, base, self.length)
        mixed = linear * frequencies / factor + (1 - linear) * ntk(frequencies, factor)
        changed = index_ramp(16, 2, pairs, base, self.length)
        return changed * mixed + (1 - changed) * frequencies
