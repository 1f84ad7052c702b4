"""Which kind of basis fits a system and the number of its unknowns."""

from typing import TypeVar

from pqp.linalg.field import Array
from pqp.linalg.system import System
from pqp.revised.basis import BasisFactor
from pqp.revised.block_basis import BlockBasis
from pqp.revised.dense_basis import DenseBasis
from pqp.revised.sparse_basis import SparseBasis

# With fewer unknowns a dense inverse is faster. For factor models of 10 and of 50 columns the crossovers were
# measured at 150 and 180 unknowns with the kernels of numpy, at 400 and 500 with compiled ones.
SMALLEST_BLOCKED = 250
# Blocks with a larger part of the unknowns in their border would cost more than a dense inverse.
MOST_IN_BORDER = 1 / 4


def basis_of(system: System, items: Array, earlier: BasisFactor | None = None) -> BasisFactor:
    """Return a basis of some unknowns, of the kind that fits: the earlier one, factorised anew, if that does.

    A system that is sparse has a sparse basis, one that is block diagonal but for a few columns has a block
    basis if it has enough unknowns, any other a dense one.
    """
    if system.is_sparse:
        return _factorised(SparseBasis, system, items, earlier)
    if len(items) >= SMALLEST_BLOCKED and system.blocks is not None:
        basis = _factorised(BlockBasis, system, items, earlier)
        if len(basis.border) <= MOST_IN_BORDER * len(items):
            return basis
    return _factorised(DenseBasis, system, items, earlier)


Kind = TypeVar("Kind", SparseBasis, BlockBasis, DenseBasis)


def _factorised(kind: type[Kind], system: System, items: Array, earlier: BasisFactor | None) -> Kind:
    if not isinstance(earlier, kind):
        return kind(system, items)
    earlier.factorise(items)
    return earlier
