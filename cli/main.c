#include "cli/cli.h"

int main(int argc, char **argv) {
    return (int)assay_cli_main(argc, argv);
}
