#include "tests/abi/macros_check.h"

int main(void) { return 0 == check_macros() ? 0 : 1; }
