// Tensors in numpy's files (.npy).
#pragma once

#include <iosfwd>
#include <string>

#include "kernbench/torch/tensor.h"

namespace kernbench::torch {

/// Writes a tensor as numpy.save does: format 1.0, little-endian, C order. Bool, Byte,
/// Char, Int, Long, Half, Float and Double have a type of numpy's; for the others (BFloat16 and the 8-bit floats) this
/// is a ValueError that says what to convert to. A device tensor is read as by any host read. ConfigurationError with
/// the file's name when it cannot be written.
void save_npy(const std::string& file, const Tensor& tensor, Where where = Where::current());
void save_npy(std::ostream& out, const Tensor& tensor, Where where = Where::current());

/// Reads a file of format 1.0, 2.0 or 3.0, of either byte order and either order of dimensions, as a host tensor that
/// is dense in the file's order. Element types: b1 u1 i1 i4 i8 f2 f4 f8. What is wrong with a file (no magic string, an
/// unknown version, a header that is malformed, too long or of another type, missing or surplus bytes) is one
/// ConfigurationError that names the file, the place and what was expected. Nothing is allocated beyond what the file
/// really holds.
Tensor load_npy(const std::string& file, Where where = Where::current());
/// `name` stands for the file in errors.
Tensor load_npy(std::istream& in, const std::string& name = "npy", Where where = Where::current());

}  // namespace kernbench::torch
