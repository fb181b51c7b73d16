#include "program.h"

int main(void) {
    return run("weighted_sum n=3x4 d=5 dtype=f32");
}
