// Runs the snippets on libtorch and prints what they write.
#include <iostream>

#include "snippets.h"

int main() {
  oracle::run_all(std::cout);
}
