#include "prelude.h"  // compiled once, for all tests
