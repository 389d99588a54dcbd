// numpy's files, in and out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include "fake_context.h"
#include "kernbench/error.h"
#include "kernbench/torch.h"

namespace kernbench::npy_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Npy : public ::testing::Test {
 protected:
  tensor::FakeContext context;
};

const std::string kMagic("\x93NUMPY", 6);

/// A file as numpy writes it, but for the padding.
std::string file_of(const std::string& header, const std::string& elements, char major = 1) {
  std::string file = kMagic + major + '\0';
  const auto length = static_cast<std::uint32_t>(header.size());
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) file += static_cast<char>(length >> (8 * i) & 0xFF);
  return file + header + elements;
}

std::string header_of(const std::string& type, const std::string& shape, const char* fortran = "False") {
  return "{'descr': '" + type + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

torch::Tensor load(const std::string& file) {
  std::istringstream in(file);
  return torch::load_npy(in, "some.npy");
}

std::string save(const torch::Tensor& tensor) {
  std::ostringstream out;
  torch::save_npy(out, tensor);
  return out.str();
}

std::string error_of(const std::string& file) {
  try {
    load(file);
  } catch (const ConfigurationError& error) {
    return error.what();
  }
  return "no error";
}

std::vector<double> values(const torch::Tensor& tensor) {
  const torch::Tensor dense = tensor.to(torch::kDouble).contiguous();
  return {dense.data_ptr<double>(), dense.data_ptr<double>() + dense.numel()};
}

TEST_F(Npy, BytesAreThoseThatNumpyWrites) {
  std::string expected =
      kMagic + std::string("\x01\x00\x76\x00", 4) + "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }";
  expected.append(128 - 1 - expected.size(), ' ');
  expected += '\n';
  expected += std::string("\x01\0\0\0\x02\0\0\0\xFD\xFF\xFF\xFF", 12);
  EXPECT_EQ(save(torch::tensor({1, 2, -3}, torch::kInt)), expected);
  EXPECT_THAT(save(torch::zeros({2, 3})), HasSubstr("'shape': (2, 3), }"));
  EXPECT_THAT(save(torch::tensor(1)), HasSubstr("'shape': (), }"));
  EXPECT_THAT(save(torch::tensor(true)), HasSubstr("'descr': '|b1'"));
}

TEST_F(Npy, EveryTypeComesBackAsItWas) {
  const auto source = torch::tensor({{0.0, 1.0, 2.0}, {100.0, 3.0, 0.0}});
  for (const auto type : {torch::kBool, torch::kByte, torch::kChar, torch::kInt, torch::kLong, torch::kHalf,
                          torch::kFloat, torch::kDouble}) {
    const auto tensor = source.to(type);
    const auto copy = load(save(tensor));
    EXPECT_EQ(copy.scalar_type(), type);
    EXPECT_TRUE(copy.equal(tensor));
  }
}

TEST_F(Npy, ViewsAndShapesOfAllRanksComeBack) {
  const auto x = torch::arange(24).view({2, 3, 4});
  for (const auto& view : {x.permute({2, 0, 1}), x.slice(2, 0, 4, 2), x[1][2][3], x.narrow(0, 0, 0), x.view({24}),
                           x.expand({2, 2, 3, 4}), x.view({1, 2, 1, 3, 1, 4, 1, 1})}) {
    const auto copy = load(save(view));
    EXPECT_TRUE(copy.sizes() == view.sizes());
    EXPECT_TRUE(copy.equal(view));
  }
}

TEST_F(Npy, TypesThatNumpyHasNotAreRefusedWithTheFix) {
  for (const auto type : {torch::kBFloat16, DType::f8e4m3, DType::f8e5m2}) {
    try {
      save(torch::zeros({2}, type));
      ADD_FAILURE();
    } catch (const ValueError& error) {
      EXPECT_THAT(error.what(), HasSubstr(".to(torch::kFloat)"));
    }
  }
}

TEST_F(Npy, FortranOrderIsATransposedView) {
  const auto tensor = load(file_of(header_of("|u1", "(2, 3)", "True"), std::string("\1\2\3\4\5\6")));
  EXPECT_THAT(values(tensor), ElementsAre(1, 3, 5, 2, 4, 6));
  EXPECT_EQ(tensor.stride(0), 1);
  EXPECT_EQ(tensor.stride(1), 2);
}

TEST_F(Npy, BigEndianElementsAreTurned) {
  EXPECT_THAT(values(load(file_of(header_of(">i4", "(2,)"), std::string("\0\0\1\2\xFF\xFF\xFF\xFE", 8)))),
              ElementsAre(258, -2));
  EXPECT_THAT(values(load(file_of(header_of(">f2", "(1,)"), std::string("\x3C\x00", 2)))), ElementsAre(1));
  EXPECT_THAT(values(load(file_of(header_of(">f8", "()"), std::string("\x3F\xF8\0\0\0\0\0\0", 8)))), ElementsAre(1.5));
}

TEST_F(Npy, AllThreeVersionsAndOtherSpellingsOfTheHeaderAreRead) {
  const std::string body("\x07\x09", 2);
  for (const char version : {'\1', '\2', '\3'})
    EXPECT_THAT(values(load(file_of(header_of("|u1", "(2,)"), body, version))), ElementsAre(7, 9));
  EXPECT_THAT(values(load(file_of("{\"shape\":(2L,),\"fortran_order\":False,\"descr\":\"|u1\"}", body))),
              ElementsAre(7, 9));
  EXPECT_THAT(values(load(file_of("{ 'descr' : '|b1' , 'shape' : ( 2 , ) , 'fortran_order' : True }   \n", body))),
              ElementsAre(1, 1));
}

TEST_F(Npy, WhatIsWrongWithAFileIsSaid) {
  const std::string good = file_of(header_of("<f4", "(2,)"), std::string(8, '\0'));
  EXPECT_EQ(error_of(good), "no error");
  EXPECT_THAT(error_of(""), HasSubstr("some.npy: the file ends within the magic string: 0 of 8 bytes"));
  EXPECT_THAT(error_of("PK\3\4 and so on"), HasSubstr("not a .npy file"));
  EXPECT_THAT(error_of(kMagic + std::string("\x04\x00", 2) + good), HasSubstr("format 4.0 is unknown"));
  EXPECT_THAT(error_of(kMagic + std::string("\x01\x01", 2) + good), HasSubstr("format 1.1 is unknown"));
  EXPECT_THAT(error_of(good.substr(0, 9)), HasSubstr("within the header's length"));
  EXPECT_THAT(error_of(good.substr(0, 20)), HasSubstr("within the header"));
  EXPECT_THAT(error_of(good.substr(0, good.size() - 1)), HasSubstr("within the elements: 7 of 8 bytes"));
  EXPECT_THAT(error_of(good + '\0'), HasSubstr("bytes after the 8 of the elements"));
  EXPECT_THAT(error_of(kMagic + std::string("\x02\x00\xFF\xFF\xFF\xFF", 6)), HasSubstr("a header of 4294967295 bytes"));
}

TEST_F(Npy, WhatIsWrongWithAHeaderIsSaid) {
  const auto error = [](const std::string& header) { return error_of(file_of(header, std::string(8, '\0'))); };
  EXPECT_THAT(error(header_of("<c8", "(1,)")), HasSubstr("element type '<c8', which is none of b1, u1"));
  EXPECT_THAT(error(header_of("<i2", "(1,)")), HasSubstr("element type '<i2'"));
  EXPECT_THAT(error(header_of("|f4", "(1,)")), HasSubstr("element type '|f4'"));
  EXPECT_THAT(error(header_of("?b1", "(1,)")), HasSubstr("element type '?b1'"));
  EXPECT_THAT(error(header_of("", "(1,)")), HasSubstr("element type ''"));
  EXPECT_THAT(error("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }"), HasSubstr("no string"));
  EXPECT_THAT(error("{'descr': '<f4', 'shape': (2,), }"), HasSubstr("no key 'fortran_order'"));
  EXPECT_THAT(error("{'fortran_order': False, 'shape': (2,), }"), HasSubstr("no key 'descr'"));
  EXPECT_THAT(error("{'descr': '<f4', 'fortran_order': False}"), HasSubstr("no key 'shape'"));
  EXPECT_THAT(error("{'shape': (2,), 'shape': (2,)}"), HasSubstr("key 'shape' twice"));
  EXPECT_THAT(error("{'order': 1}"), HasSubstr("unknown key 'order'"));
  EXPECT_THAT(error("{'descr': '<f4', 'fortran_order': 0}"), HasSubstr("neither True nor False"));
  EXPECT_THAT(error(header_of("<f4", "(-1,)")), HasSubstr("no extent"));
  EXPECT_THAT(error(header_of("<f4", "(99999999999999999999,)")), HasSubstr("beyond 64 bits"));
  EXPECT_THAT(error(header_of("<f4", "(1,1,1,1,1,1,1,1,1)")), HasSubstr("more than 8 dimensions"));
  EXPECT_THAT(error(header_of("<f8", "(9223372036854775807, 9223372036854775807)")), HasSubstr("too large"));
  EXPECT_THAT(error(header_of("<f4", "(2,)") + "x"), HasSubstr("text after the dictionary"));
  EXPECT_THAT(error("{'descr': '<f4"), HasSubstr("a string without an end"));
  EXPECT_THAT(error(""), HasSubstr("no '{'"));
}

TEST_F(Npy, AShapeThatPromisesTooMuchAllocatesNothingOfIt) {
  EXPECT_THAT(error_of(file_of(header_of("<f8", "(100000000000000,)"), std::string(16, '\0'))),
              HasSubstr("within the elements: 16 of 800000000000000 bytes"));
}

TEST_F(Npy, NoTruncationAndNoChangedByteDoesMoreThanAnError) {
  const std::string good = save(torch::tensor({{1.0, 2.0}, {3.0, 4.0}}));
  for (std::size_t length = 0; length < good.size(); ++length) EXPECT_NE(error_of(good.substr(0, length)), "no error");
  std::mt19937 random(7);
  for (int i = 0; i < 5000; ++i) {
    std::string changed = good;
    for (int k = 0; k < 2; ++k) changed[random() % 80] = static_cast<char>(random());
    error_of(changed);  // accepted or refused, but nothing else
  }
}

TEST_F(Npy, FilesAreWrittenAndErrorsNameThem) {
  const auto folder = std::filesystem::path(::testing::TempDir());
  const auto file = folder / "kernbench_npy_test.npy";
  torch::save_npy(file, torch::arange(5));
  EXPECT_THAT(values(torch::load_npy(file)), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THROW(torch::save_npy(file, torch::zeros({2}, torch::kBFloat16)), ValueError);
  EXPECT_EQ(torch::load_npy(file).numel(), 5);  // as it was
  std::filesystem::remove(file);
  EXPECT_THROW(torch::load_npy(file), ConfigurationError);
  EXPECT_THROW(torch::save_npy(folder / "no such folder" / "x.npy", torch::zeros({1})), ConfigurationError);
}

TEST_F(Npy, SavingADeviceTensorIsAHostRead) {
  const auto x = torch::arange(8, torch::dtype(torch::kInt).device("ahbm"));
  EXPECT_TRUE(load(save(x)).equal(torch::arange(8, torch::kInt)));
  EXPECT_EQ(context.devices.reads.back(), tensor::HostRead::save);
}

TEST_F(Npy, NumpyReadsWhatIsWrittenAndTheOtherWayRound) {
  const std::string python = std::system("python3 -c 'import numpy' 2>/dev/null") == 0 ? "python3" : "/usr/bin/python3";
  if (std::system((python + " -c 'import numpy' 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "numpy is not installed (Debian: python3-numpy), so nothing was compared";
  const auto folder = std::filesystem::path(::testing::TempDir()) / "kernbench_numpy";
  std::filesystem::create_directories(folder);
  const auto x = torch::arange(24).view({2, 3, 4});
  torch::save_npy(folder / "ours.npy", x.permute({2, 0, 1}).to(torch::kHalf));
  std::ofstream(folder / "check.py") << "import numpy, sys, os\n"
                                        "os.chdir(sys.argv[1])\n"
                                        "x = numpy.arange(24).reshape(2, 3, 4)\n"
                                        "y = numpy.load('ours.npy')\n"
                                        "assert y.dtype == numpy.float16 and (y == x.transpose(2, 0, 1)).all()\n"
                                        "numpy.save('c.npy', x)\n"
                                        "numpy.save('f.npy', numpy.asfortranarray(x.astype('f4')))\n"
                                        "numpy.save('b.npy', x.astype('>i4'))\n"
                                        "numpy.save('s.npy', numpy.float64(2.5))\n"
                                        "numpy.save('t.npy', x % 2 == 0)\n";
  const std::string command = python + " " + (folder / "check.py").string() + " " + folder.string();
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_TRUE(torch::load_npy(folder / "c.npy").equal(x));
  EXPECT_TRUE(torch::load_npy(folder / "f.npy").equal(x.to(torch::kFloat)));
  EXPECT_TRUE(torch::load_npy(folder / "b.npy").equal(x.to(torch::kInt)));
  EXPECT_EQ(torch::load_npy(folder / "s.npy").item<double>(), 2.5);
  EXPECT_TRUE(torch::load_npy(folder / "t.npy").equal(x % 2 == 0));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace kernbench::npy_test
