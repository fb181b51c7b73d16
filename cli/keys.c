/* The keys that every case may have, for assay help. The grammar is in assay/case.h; fill.h and
 * docs/numerics.md say how the data are made. */
#include "cli/verbs.h"

#include <string.h>

const cli_key cli_keys[] = {
    {"dtype", "f64|f32|bf16|f16",
     "The type of the tensors (default: f32). assay list OP says which types OP has.\n"},
    {"math", "strict|tf32",
     "The precision of matrix products that the caller allows (default: strict).\n"
     "  strict  products of fp32 operands are as exact as fp32 is\n"
     "  tf32    operands may be cut to TF32, which keeps 10 bits of the fraction\n"},
    {"fill", "NAME",
     "How the data are drawn (default: normal). s is the scale of a tensor.\n"
     "  normal    normally distributed, standard deviation s\n"
     "  uniform   uniform around 0, standard deviation s\n"
     "  positive  uniform above 0: no sum cancels\n"
     "  exact     small odd integers, so that sums have no rounding error\n"
     "  golden    read from the golden file of the operator\n"
     "  inf, nan  normal, but one element of one input is Inf or NaN; seed chooses both\n"
     "An operator may have these as well; assay check names those that it has:\n"
     "  wide      magnitudes from s/1024 to 1024 s\n"
     "  zeros     about one element in four is 0 or -0\n"
     "  constant  all elements of a tensor are equal, of about half of the tensors\n"
     "  rows      all rows of a tensor are equal, or every two\n"
     "  repeat    the elements of a tensor have four different values\n"
     "  mixed     the rows are normal, wide, zeros, denormal and huge in turn\n"
     "  cancel    sums whose terms nearly cancel\n"
     "  denormal  subnormal operands and results\n"
     "  huge      close to overflow, without overflow in a correct kernel\n"
     "  negative  very negative softmax scores, closed gates, a mean far below 0\n"
     "  single    each sum has one term, whose factors have all bits of the accumulator\n"
     "  initial   norm weights as frameworks initialise them\n"},
    {"exponent", "E",
     "The data of one operand are multiplied by 2^E, E in -1100..1100 (default: 0), so that each\n"
     "operand can be driven through the whole range of its dtype. What would overflow becomes the\n"
     "dtype's largest number. Not for fill=exact and fill=golden.\n"},
    {"operand", "J",
     "The operand that exponent= changes (default: 0). Operands are counted from 0: inputs without\n"
     "indices, then gradients of outputs.\n"},
    {"pad", "N",
     "Elements between the end of one row and the start of the next, in 0..1024 (default: 0).\n"
     "Each tensor gets a row stride of its own, so a kernel that uses the stride of another\n"
     "tensor, or assumes contiguous rows, fails.\n"},
    {"misalign", "N",
     "Elements by which tensors start behind a 256-byte boundary, in 0..8191 (default: 0).\n"
     "  1..7      all tensors, by as many elements\n"
     "  8+j       tensor j alone, by one element. Tensors are counted from 0: inputs, outputs,\n"
     "            gradients of outputs, gradients of inputs\n"
     "  r+64k     all tensors by r+8k elements, where r is 0 to 7\n"
     "  8+j+64k   tensor j alone, by k+1 elements\n"
     "A kernel that loads vectors must check the alignment of each pointer.\n"},
    {"sched", "inorder|reverse|random|warp",
     "The order in which the simulated device runs blocks and threads (default: inorder).\n"
     "A GPU has an order of its own, and ignores it.\n"
     "  inorder  blocks and threads by their numbers\n"
     "  reverse  the last block and the last thread first\n"
     "  random   an order drawn from the seed\n"
     "  warp     one warp runs as far as it can before another one does\n"},
    {"seed", "N",
     "Seeds all data of the case, in 0..18446744073709551615 (default: 0). The same seed gives\n"
     "the same data on every machine.\n"},
    {0},
};

bool cli_key_help(FILE *to, const char *name) {
    for (const cli_key *key = cli_keys; key->name != NULL; ++key)
        if (strcmp(key->name, name) == 0) {
            fprintf(to, "%s=%s\n\n%s", key->name, key->value, key->doc);
            return true;
        }
    return false;
}
