/*
 * How a tensor's data is made. Element i is a function of (seed, stream of the tensor's name, i),
 * rounded to the tensor's dtype; s is its scale, u is uniform in (0, 1).
 *
 *     normal     s z, z ~ N(0, 1)
 *     uniform    √3 s (2u - 1): mean 0
 *     positive   √3 s u: no cancellation in any sum
 *     exact      odd integers of random sign, their magnitudes uniform over 1, 3 … L, with L the
 *                largest odd integer within the tensor's exact_limit and its dtype's significand
 *     inf, nan   normal, but one element of one input is Inf or NaN: of the one with the number
 *                s mod inputs, or of the next that does not hold indices, with s = seed mod 64; the
 *                element is seed / 64, modulo their number; Inf is negative where s / inputs is odd
 *
 * Families, for operators that list them. docs/numerics.md says why each exists.
 *
 *     wide       ±s 2^e, e uniform in (-10, 10)
 *     zeros      normal, but about every fourth element, not the first, is 0, half of these -0
 *     constant   normal, but all elements of a tensor are its first one: of about every second
 *                tensor, by the seed
 *     rows       normal, but each row is the first one, or else rows are equal in pairs, by the
 *                seed
 *     repeat     normal, but each element is one of the tensor's first four: ties, and equal
 *                indices
 *     mixed      row r of a tensor of two axes or more is one of normal, wide, zeros, denormal,
 *                huge in turn; a tensor of one axis, or of none, is normal
 *
 * The other families are normal, and then dressed by the operator, which knows what its tensors are
 * for:
 *
 *     cancel     sums whose terms nearly cancel
 *     denormal   one factor of each product is subnormal, and so are results
 *     huge       near overflow, without overflow inside a correct kernel; huge scores of a softmax,
 *                a mean far above 0 that is to be subtracted
 *     negative   very negative scores of a softmax, gates that are shut, a mean far below 0
 *     initial    norm weights as frameworks initialise them, which let kernels drop them
 *     single     each sum of products has one term that is not 0, which the accumulator holds
 *                exactly, of factors that have all its bits between them (fill_single)
 *
 * Tensors of indices are uniform over 0..indices-1, and equal where the fill makes data equal;
 * tensors that cannot be negative (`magnitudes`) take the absolute values.
 *
 * The first three have the root mean square s; of those, normal and uniform the deviation s.
 */
#ifndef ASSAY_CORE_FILL_H
#define ASSAY_CORE_FILL_H

#include "assay/op.h"

/* The families that need no help of the operator's. */
#define FILL_EQUAL                                                                                 \
    (ASSAY_FILL_BIT(ASSAY_FILL_CONSTANT) | ASSAY_FILL_BIT(ASSAY_FILL_ROWS) |                       \
     ASSAY_FILL_BIT(ASSAY_FILL_REPEAT))
#define FILL_GENERAL                                                                               \
    (ASSAY_FILL_BIT(ASSAY_FILL_WIDE) | ASSAY_FILL_BIT(ASSAY_FILL_ZEROS) | FILL_EQUAL)

/* Those of most operators. Only some have `negative`: to one that is linear in each input, negative
 * data are positive ones with signs that no sum of products sees. */
#define FILL_FAMILIES                                                                              \
    (FILL_GENERAL | ASSAY_FILL_BIT(ASSAY_FILL_CANCEL) | ASSAY_FILL_BIT(ASSAY_FILL_DENORMAL) |      \
     ASSAY_FILL_BIT(ASSAY_FILL_HUGE) | ASSAY_FILL_BIT(ASSAY_FILL_MIXED))

/* Not for golden. `name` is the tensor's own or its cotangent's; `data` holds its elements. */
void assay_fill_array(assay_fill fill, const char *name, const assay_tensor_spec *spec,
                      double scale, uint64_t seed, double *data, int64_t count);

/* Whether fill=exact has data for the tensor. */
bool assay_fill_has_exact(const assay_tensor_spec *spec);

/* ---- what operators dress normal data with ---- */

/* The family of that row of a tensor of two axes or more. */
assay_fill fill_of_row(assay_fill fill, int64_t row);

/* Multiplies the rows of `family` by 2^power: these are all rows, some rows of mixed data, or no
 * rows. */
void fill_scale(assay_fill fill, assay_fill family, const assay_tensor_spec *spec, int power,
                double *data);

/* Divides the exponents of wide rows, those of mixed data as well, by `times`: where so many
 * factors meet that their product would overflow. */
void fill_narrow(assay_fill fill, const assay_tensor_spec *spec, double scale, double times,
                 double *data);

/* The power of two that makes numbers about 1 subnormal in the dtype. */
int fill_denormal_power(assay_dtype dtype);

/* The one that leaves `room` binary digits below the dtype's largest number; not below 0. */
int fill_huge_power(assay_dtype dtype, int room);

/* The largest integer up to which sums are exact in the accumulator, and no results overflow. */
double fill_exact_room(assay_dtype dtype);

/* Dresses a linear operator's input in `denormal` and `huge`, if every term has a factor of it;
 * leaves room for 2^room terms. */
void fill_scale_factor(assay_fill fill, const assay_tensor_spec *spec, int room, double *data);

/* Numbers s z become s (1 + z/16): terms of about the same size. Their sign alternates along the
 * axes of the mask `axes`, bit a for axis a. */
void fill_alternate(const assay_tensor_spec *spec, double scale, unsigned axes, double *data);

/* A matrix inside a tensor: element (i, j) lies at i row + j column. */
typedef struct fill_matrix {
    double *data;
    int64_t row, column;
} fill_matrix;

/*
 * fill=single for y[m, n] = c + a[m, k] b[k, n] and its gradients dy bᵀ and aᵀ dy, all of which a
 * kernel may take `passes` times. Factors are odd integers. The accumulator has P bits. One of a, b
 * and dy, chosen by the seed, has P - q of them and the others have q, with q = 1 or P/2 - 1. So
 * the data show sums of two digits, and sums without a product of two lower digits. (P and 1 bits
 * would find two fp16 digits wrong, hi + lo 2^11, whose last bit is a rounding.) In f16 the
 * integers are multiplied by 2^-4, so that no result overflows. c, where data is not NULL, is not 0
 * in the columns where b is.
 */
void fill_single(assay_dtype dtype, uint64_t seed, int64_t passes, int64_t m, int64_t n, int64_t k,
                 fill_matrix a, fill_matrix b, fill_matrix dy, fill_matrix c);

#endif
