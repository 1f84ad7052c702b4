"""The tolerances of both engines: a name, a value and its reason, grouped by the part that uses it.

Exact arithmetic uses none of them. All are relative, to what the comment says. `pqp.certificate`, which
shares nothing with the engines, and the models of `ranking` keep theirs as constants in the files that use
them.
"""

# ---- The tableau engine and the criss-cross method ----

# A float64 entry of a scaled dictionary below this is zero: rounding error after the 50 pivots between
# two rebuilds was measured at 5e-12, and true values of scaled data are rarely below 1e-7.
ZERO = 1e-9
# Float dictionaries, and inverses of the revised engine, are rebuilt from the data after this many pivots.
REBUILD_EVERY = 50
# Where a float inverse should have a zero it has up to this much, times ZERO, of its row's largest entry.
INVERSE_NOISE = 1e-5
# Scaled data whose sizes differ by more than this factor leave the sign of a small float open, since it may
# be all rounding error of a large one: every piece is then confirmed in exact arithmetic.
WIDE_RANGE = 1e8

# ---- The revised engine: ratio test and ties ----

# Items closer to an end than this, relative to the numbers the gap is the difference of, are tied. Rounding
# error between two rebuilds stays below 1e-11; breakpoints of real data are rarely closer than that.
TIE = 1e-11
# An end that is passed by up to this many times what counts as a tie was reached before all lines were
# recomputed: rounding errors between two rebuilds were seen to exceed a tie by a factor of 5.
PASSED = 1e2
# What one product adds to that in rounding error, relative to the largest number that goes into it.
ROUNDING = 1e-13
# Where the largest slope falls by this factor, all values are computed again: rounding errors of mu have
# moved them by 1e-16 of the largest slope before, and ties are 1e-11 of them.
STEEP_FALL = 1e4
# A slope below this, relative to the largest slope, is rounding error.
FLAT = 1e-11
# On a piece without end, and on the way to an end that is far out, slopes below this part of the largest one
# of their kind are zero: as rounding errors they would move what they belong to without end.
STILL = 1e-9
# The same relative to the slopes of the other kind, where values and multipliers have different units.
NOISE = 1e-12
# What moves less than this along a ray, relative to what moves most, does not block it: it would be rounding
# error.
PIVOT_ON_RAY = 1e-11
# A gap that closes by less than this part of the terms of its slope does not close: they cancel.
CLOSING = 1e-11
# Unknowns that move less than this along a ray, relative to what moves most, do not move: in the exact
# solution on the others they are zero, which the proof then shows.
ON_RAY = 1e-9
# A local dictionary with signs that no positive semidefinite matrix has is full of rounding error. It is read
# again with a coarser zero, raised by the factor COARSENING each time, up to this.
COARSEST_ZERO = 1e-5
# If a basis turns out singular after all, pivots are taken for zero up to a level this much higher, twice.
COARSENING = 1e2
# The size of an array of zeros, so that it can be divided by.
TINY = 1e-300

# ---- The revised engine: factorisation of the basis ----

# A pivot below this part of the terms it is the difference of (or of its column) is not used to update an
# inverse: at 1e-9 a rank-deficient dictionary was ruined after 2 000 pivots, at 1e-6 it kept 4e-9.
TRUSTED_PIVOT = 1e-6
# A block pivot whose inverse grows by more is not used to update an inverse: it is computed anew.
BLOCK_GROWTH = 1e6
# Below this part of its terms a pivot is zero: the item depends linearly on the basis.
SINGULAR = 1e-11
# A basis whose inverse has larger entries, relative to those of its matrix, is singular in float64: no digit
# of what is solved with it can be trusted.
SINGULAR_BASIS = 1e14
# What iterative refinement may leave as residual, relative to the largest number of its kind.
REFINED = 1e-12
# Where a single solve leaves a residual above this, relative to its size, small pivots have spoilt the basis
# and it is rebuilt: pivots are trusted down to 1e-6 of their terms and need three digits.
INVERSE_LOSS = 1e-9
# Unless a fresh factorisation leaves almost as much: only more than this many times that is worth a rebuild.
LOSS_SINCE_REBUILD = 1e2
# What a freshly solved basis may leave as residual, relative to the size of its solution.
RESIDUAL_GROWTH = 1e-8
# Where rounding errors of what is left over move the unknowns by more than this part of the largest number,
# the basis is singular in float64: on steep but sound pieces with slopes of 1e8 it was 1e-6.
NO_DIGITS = 1e-4
# A block is not inverted ahead of the trace if a pivot of it is below this part of its diagonal entry.
WELL_CONDITIONED = 1e-8

# ---- The revised engine: start, end and repair of a trace ----

# A homotopy that comes this close to its goal, on its scale from 0 to 1, has reached it: START_MARGIN times
# this is left of its shifts.
GOAL_REACHED = 1e-6
# What counts as a tie on the way there: items begin at different distances from their ends.
HOMOTOPY_TIES = (1e-15, 1e-13, 1e-11)
# Columns of a guessed basis that leave less than this after elimination depend on others; the next one is
# taken if the basis is still singular.
START_DEPENDENT = (1e-9, 1e-7, 1e-5)
# How far from its ends an item begins the homotopy, relative to the largest number of its kind: more than the
# error of an interior point, so that no two items reach their ends together on the way.
START_MARGIN = 1e-5
# The margin is smaller by this factor in every homotopy after the first one, which begins at a basis.
SMALLER_MARGIN = 1e-3
# A limit that a homotopy still violates by less than this part of the largest number is violated by rounding.
START_ROUNDING = 1e-9
# Items this close to an end, relative to the largest number of a basis, are in an excerpt from the beginning.
NEAR_LIMIT = 1e-6

# ---- Checks of results ----

# A line of the revised engine is repaired in exact arithmetic if it misses the optimality conditions by more,
# relative to the numbers it is made of.
ACCURATE = 1e-9
# A number is judged relative to itself and its limit, and to this share of the largest number that goes into
# it: below that share it consists of the rounding errors of sums, which a small number cannot avoid.
SHARE_OF_LARGEST = 1e-1
# But at most to this many times the largest terms of its own item on the run, or it would be as wrong as they
# are large: relative to multipliers of 1e8, one of -1e-5 passed where the costs are 1.
TIMES_OWN_TERMS = 3.0
# Terms of an item count as at least this share of the largest number of its kind: rounding errors spread from
# large items to small ones. What is below 3e-13 of the largest number is never a miss.
LEAST_HEIGHT = 1e-4
# A piece is stated as constants and slopes. Where a slope times mu is so large that its rounding error, 4e-16
# of it, exceeds ACCURATE of all else, no float64 number of the piece is more accurate than that.
STEEP_SHARE = 4e-16 / ACCURATE
# But at most this many times what misses are relative to otherwise, so that no piece misses its conditions by
# more than 1e-8 of the largest number: steeper ones cannot be stated.
STEEPEST = 1e2
# The value of a piece shorter than this part of mu is summed up around its middle: on a piece with slopes of
# 1e8, sums around 0 were wrong by 1e-6.
SHORT_PIECE = 1e-3
# A float piece is returned only if its KKT residual, relative to the data it is made of, is below this.
KKT_RESIDUAL = 1e-7
# Two solutions of a float path are the same point if they differ by less than this, relative to their size.
SAME_POINT = 1e-7
# An unknown of the same slope is still on the line of the piece before if its value differs from it by less
# than this part of the numbers that it is the sum of. In filters of 2 000 samples as many lines are kept for
# every tolerance from 1e-14 to 1e-12; with 1e-15 up to 3 % more, which differ by what moving a value from
# breakpoint to breakpoint adds in rounding errors.
SAME_LINE = 1e-14
# Two mirrored entries of a float64 P that differ by less than this, relative to the larger of themselves and
# the root of the product of their diagonal entries, are one number: that root bounds the size of the products
# that an entry of a Gram matrix sums up, and sums of thousands of them in another order differ by 1e-13.
SYMMETRY_ROUNDING = 1e-12
# A float64 matrix is accepted as convex if no eigenvalue is below minus this times the largest one: a
# rounded Gram matrix of deficient rank has eigenvalues down to about -1e-15 times the largest.
CONVEX_SLACK = 1e-10
# A sum of float64 numbers is positive beyond doubt if it exceeds this times the sum of their sizes.
CLEARLY_POSITIVE = 1e-12
