#include "support/prelude.h"  // compiled once, for all tests
