// Files of safetensors: what is written to the byte, what is read and refused, and when elements are read.
#include "kernbench/nn/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "kernbench/nn.h"
#include "support.h"
#include "tensor/tensor_impl.h"
#include "tests/support/source_tree.h"

namespace kernbench::safetensors {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using torch::Tensor;
using torch::nn::on_tiny;
namespace fs = std::filesystem;

/// A folder that is removed with what is in it.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("kernbench_safetensors_" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return path_ / name; }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }

 private:
  fs::path path_;
};

std::string little_endian(std::uint64_t value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
std::string file_of(const std::string& header, const std::string& data) {
  return little_endian(header.size()) + header + data;
}
std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}
bool made(const Tensor& tensor) {
  return tensor::impl_of(tensor).storage->is_made();
}

/// The error of opening a file of these bytes, without the name of the file.
std::string refusal(const Folder& folder, const std::string& bytes) {
  const std::string path = folder.write("bad.safetensors", bytes);
  try {
    const SafeTensors file(path);
  } catch (const ConfigurationError& error) {
    const std::string text = error.what();
    EXPECT_TRUE(text.starts_with(path + ": ")) << text;
    return text.substr(std::min(text.size(), path.size() + 2));
  }
  return "it was accepted";
}

TEST(SafeTensors, AreWrittenToTheByteAsTheFormatSays) {
  on_tiny([] {
    const Folder folder;
    save_file({{"b", torch::tensor({1.5f})}, {"a", torch::tensor({{1, 2}, {3, 4}}, torch::kByte)}},
              folder.file("x.safetensors"), {{"format", "pt"}});
    const std::string header =
        R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
        R"("a":{"dtype":"U8","shape":[2,2],"data_offsets":[4,8]}})";
    const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
    EXPECT_EQ(read_file(folder.file("x.safetensors")),
              file_of(padded, std::string("\0\0\xC0\x3F", 4) + std::string("\1\2\3\4", 4)));
  });
}

TEST(SafeTensors, OfEveryTypeComeBack) {
  on_tiny([] {
    const Folder folder;
    torch::OrderedDict<std::string, Tensor> all;
    for (const DType type : {DType::boolean, DType::u8, DType::i8, DType::i32, DType::i64, DType::f8e4m3, DType::f8e5m2,
                             DType::f16, DType::bf16, DType::f32, DType::f64})
      all.insert(std::string(kernbench::name(type)), (torch::arange(6).view({2, 3}) % 2).to(type));
    all.insert("scalar", torch::full({}, 7.0));
    all.insert("empty", torch::empty({0, 3}));
    all.insert("transposed", torch::arange(6).view({2, 3}).t());
    save_file(all, folder.file("all.safetensors"));
    const auto back = load_file(folder.file("all.safetensors"));
    EXPECT_EQ(back.size(), all.size());
    for (const auto& item : all) {
      const Tensor tensor = back[item.key()];
      EXPECT_EQ(tensor.scalar_type(), item->scalar_type()) << item.key();
      EXPECT_TRUE(tensor.sizes() == item->sizes()) << item.key();
      EXPECT_TRUE(torch::equal(tensor.to(torch::kDouble), item->to(torch::kDouble))) << item.key();
    }
    save_file(back, folder.file("again.safetensors"));
    EXPECT_EQ(read_file(folder.file("again.safetensors")), read_file(folder.file("all.safetensors")));
  });
}

TEST(SafeTensors, OfADeviceAreReadAndWritten) {
  on_tiny([] {
    const Folder folder;
    const Tensor x = torch::randn({5, 7});
    save_file({{"x", x.to("ahbm")}}, folder.file("x.safetensors"));
    EXPECT_TRUE(load_file(folder.file("x.safetensors"))["x"].to("ahbm").cpu().equal(x));
  });
}

TEST(SafeTensors, AreReadWhenSomebodyLooks) {
  on_tiny([] {
    const Folder folder;
    const std::int64_t rows = 1 << 20, columns = 1 << 10, bytes = rows * columns * 2;
    const std::string path = folder.write(
        "large.safetensors",
        file_of(R"({"w":{"dtype":"F16","shape":[1048576,1024],"data_offsets":[0,)" + std::to_string(bytes) + "]}}",
                ""));
    fs::resize_file(path, fs::file_size(path) + static_cast<std::uintmax_t>(bytes));  // no disk: a file of holes
    const SafeTensors file(path);
    const Tensor whole = file.tensor("w");
    EXPECT_EQ(whole.numel(), rows * columns);
    const torch::nn::Linear layer(torch::nn::LinearOptions(columns, rows).bias(false));
    layer->load_state_dict({{"weight", whole}});
    EXPECT_FALSE(made(whole));
    EXPECT_FALSE(made(layer->weight));
    EXPECT_EQ(file.slice("w", 0, rows - 1, rows).sum().item<float>(), 0) << "reads 2 KiB";
    fs::resize_file(path, 1000);
    try {
      file.slice("w", 0, rows - 1, rows).sum();
      FAIL();
    } catch (const ConfigurationError& error) {
      EXPECT_THAT(error.what(), HasSubstr("it ends at byte"));
    }
  });
}

TEST(SafeTensors, GiveAnyPartOfAnyDimension) {
  on_tiny([] {
    const Folder folder;
    const Tensor x = torch::arange(2 * 3 * 5 * 4).view({2, 3, 5, 4});
    save_file({{"before", torch::ones({3})}, {"x", x}}, folder.file("x.safetensors"));
    const SafeTensors file(folder.file("x.safetensors"));
    for (std::int64_t d = 0; d < 4; ++d) {
      for (std::int64_t begin = 0; begin <= x.size(d); ++begin) {
        for (std::int64_t end = begin; end <= x.size(d); ++end) {
          EXPECT_TRUE(file.slice("x", d, begin, end).equal(x.narrow(d, begin, end - begin)));
          EXPECT_TRUE(file.slice("x", d - 4, begin, end)
                          .to(torch::kInt)
                          .equal(x.narrow(d, begin, end - begin).to(torch::kInt)));
        }
      }
    }
    const auto refusal = [&](std::int64_t dimension, std::int64_t begin, std::int64_t end) -> std::string {
      try {
        file.slice("x", dimension, begin, end);
      } catch (const torch::IndexError& error) {
        return error.what();
      }
      return "no error";
    };
    const std::string named = folder.file("x.safetensors") + ": tensor \"x\" ";
    EXPECT_EQ(refusal(1, 2, 4), named + "has 3 indices in dimension 1; [2, 4) is not among them");
    EXPECT_EQ(refusal(4, 0, 1), named + "has 4 dimensions, and 4 is none of them");
    EXPECT_EQ(refusal(-5, 0, 1), named + "has 4 dimensions, and -5 is none of them");
    EXPECT_THROW(file.tensor("y"), ConfigurationError);
    EXPECT_FALSE(file.contains("y"));
  });
}

TEST(SafeTensors, OfAnIndexAreOne) {
  on_tiny([] {
    const std::string models = source_tree::path("tests/models/references/");
    const SafeTensors shards(models + "llama_tied_sharded"), whole(models + "llama_tied");
    EXPECT_EQ(shards.keys().size(), whole.keys().size());
    for (const std::string& key : whole.keys()) {
      EXPECT_EQ(shards.shape(key), whole.shape(key));
      EXPECT_EQ(shards.dtype(key), "F32");
      EXPECT_TRUE(shards.tensor(key).equal(whole.tensor(key))) << key;
    }
    EXPECT_EQ(whole.metadata().at("format"), "pt");
  });
}

TEST(SafeTensors, OfAnIndexThatDoesNotFitAreRefused) {
  on_tiny([] {
    const Folder folder;
    save_file({{"a", torch::ones({1})}, {"b", torch::ones({1})}}, folder.file("one.safetensors"));
    const auto error = [&](const std::string& index) {
      const std::string path = folder.write("model.safetensors.index.json", index);
      try {
        const SafeTensors file(path);
      } catch (const ConfigurationError& thrown) {
        return std::string(thrown.what()).substr(path.size() + 2);
      }
      return std::string("it was accepted");
    };
    EXPECT_EQ(error(R"({"weight_map": {"a": "one.safetensors", "b": "one.safetensors"}})"), "it was accepted");
    EXPECT_THAT(error(R"({"weight_map": {"a": "one.safetensors"}})"), HasSubstr("\"b\" of "));
    EXPECT_THAT(error(R"({"weight_map": {"a": "two.safetensors"}})"), HasSubstr("two.safetensors, which is not there"));
    EXPECT_THAT(error(R"({"weight_map": {"a": "one.safetensors", "b": "one.safetensors", "c": "one.safetensors"}})"),
                HasSubstr("tensor \"c\" is to be in "));
    EXPECT_THAT(error(R"({"weight_map": {"a": "../one.safetensors"}})"),
                HasSubstr("must name a file beside the index"));
    EXPECT_EQ(error("{}"), "it has no \"weight_map\", an object of the file of each tensor");
    EXPECT_EQ(error("{"), "index, byte 2: this is no JSON");
    fs::remove(folder.file("model.safetensors.index.json"));
    EXPECT_THROW(SafeTensors{folder.file("")}, ConfigurationError);
  });
}

TEST(SafeTensors, ThatAreMalformedAreRefusedWithTheReason) {
  const Folder folder;
  const auto of = [&](const std::string& header, const std::string& data = "") {
    return refusal(folder, file_of(header, data));
  };
  const std::string ok = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  EXPECT_EQ(of(ok, "1234"), "it was accepted");
  EXPECT_EQ(of("{}"), "it was accepted");
  EXPECT_EQ(of("{}   "), "it was accepted");
  EXPECT_EQ(of(R"({"e":{"dtype":"F32","shape":[0,99],"data_offsets":[0,0]}})"), "it was accepted");
  EXPECT_EQ(of(R"({"u":{"dtype":"U16","shape":[1],"data_offsets":[0,2]}})", "12"), "it was accepted") << "until used";
  EXPECT_EQ(refusal(folder, ""), "it has 0 bytes; a safetensors file begins with eight of its header's length");
  EXPECT_EQ(
      refusal(folder, little_endian(9) + "{}"),
      "its header would have 9 bytes, but the file has 10 and a header 100000000 at most; is it a safetensors file?");
  EXPECT_THAT(refusal(folder, std::string(8, '\xFF') + "{}"), HasSubstr("its header would have 18446744073709551615"));
  EXPECT_EQ(of(""), "header, byte 1: this is no JSON");
  EXPECT_EQ(of("{\"a\""), "header, byte 5: this is no JSON");
  EXPECT_EQ(of("{} x"), "header, byte 4: this is no JSON");
  EXPECT_EQ(of("{\"\xFF\":1}"), "header, byte 3: this is no JSON");
  EXPECT_EQ(of("{\"a\": 1e999}"), "header: a number is too large for JSON's");
  EXPECT_EQ(of(std::string("{} \0\0", 5)), "header, byte 4: this is no JSON");
  EXPECT_EQ(of(ok + std::string("\0", 1), "1234"), "header, byte 55: this is no JSON");
  EXPECT_EQ(of("[1]"), "header: a JSON object is expected");
  EXPECT_EQ(of(R"({"a":1})"), "tensor \"a\": an object with dtype, shape and data_offsets is expected");
  EXPECT_EQ(of(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", "1234"), "tensor \"a\": it has no dtype");
  EXPECT_EQ(of(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", "1234"), "tensor \"a\": it has no shape");
  EXPECT_EQ(of(R"({"a":{"dtype":"F32","shape":[1]}})", "1234"), "tensor \"a\": it has no data_offsets");
  EXPECT_EQ(of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})", "1234"),
            "tensor \"a\": \"x\" is no key of a tensor; these are dtype, shape and data_offsets");
  EXPECT_EQ(of(R"({"a":{"dtype":7,"shape":[1],"data_offsets":[0,4]}})", "1234"),
            "tensor \"a\": dtype must be a text, such as \"F32\"");
  EXPECT_THAT(of(R"({"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", "1234"),
              HasSubstr("tensor \"a\": the dtype \"F31\" is unknown; there are BOOL, U8"));
  EXPECT_EQ(of(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234"),
            "tensor \"a\": shape must be a list of whole numbers from 0 to 2^63 - 1");
  EXPECT_EQ(of(R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", "1234"),
            "tensor \"a\": shape must be a list of whole numbers from 0 to 2^63 - 1");
  EXPECT_EQ(of(R"({"a":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})", "1234"),
            "tensor \"a\": shape must be a list of whole numbers");
  EXPECT_EQ(of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", "1234"),
            "tensor \"a\": data_offsets must be two numbers [begin, end], the first not above the second");
  EXPECT_EQ(of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", "1234"),
            "tensor \"a\": data_offsets must be two numbers [begin, end], the first not above the second");
  EXPECT_EQ(of(R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,4]}})", "1234"),
            "tensor \"a\": data_offsets [0, 4] hold 4 bytes, but F32 of shape [2, 3] takes 24");
  EXPECT_EQ(of(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})", "1234"),
            "tensor \"a\": data_offsets [0, 4] hold 4 bytes, but F32 of shape [4294967296, 4294967296] takes more than "
            "2^63");
  const std::string b = R"("b":{"dtype":"U8","shape":[2],"data_offsets":)";
  EXPECT_EQ(of(ok.substr(0, ok.size() - 1) + "," + b + "[2,4]}}", "1234"),
            "tensor \"b\": its elements begin at byte 2 behind the header, but those before it end at 4; ranges must "
            "neither overlap nor leave a gap");
  EXPECT_EQ(of(ok.substr(0, ok.size() - 1) + "," + b + "[5,7]}}", "1234567"),
            "tensor \"b\": its elements begin at byte 5 behind the header, but those before it end at 4; ranges must "
            "neither overlap nor leave a gap");
  EXPECT_EQ(of(ok, "123"), "the tensors take 4 bytes behind the header, but the file has 3; it is cut off");
  EXPECT_EQ(of(ok, "12345"), "the tensors take 4 bytes behind the header, but the file has 5; it is too long");
  EXPECT_EQ(
      of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
         "12"),
      "header: the key \"a\" stands there twice");
  EXPECT_EQ(of(R"({"a":[[[[[{"deep":1,"deep":2}]]]]]})"), "header: the key \"deep\" stands there twice");
  EXPECT_EQ(of(R"({"__metadata__":1})"), "__metadata__ must be an object of texts");
  EXPECT_EQ(of(R"({"__metadata__":{"a":1}})"), "__metadata__: \"a\" must be a text");
  EXPECT_EQ(of("{\"a\":" + std::string(100000, '[')), "header, byte 100006: this is no JSON");
  EXPECT_THROW(SafeTensors{folder.file("none.safetensors")}, ConfigurationError);
  EXPECT_THROW(SafeTensors{"/dev/null"}, ConfigurationError);
}

TEST(SafeTensors, OfATypeThatThereIsNotAreRefusedWhenTheyAreAskedFor) {
  on_tiny([] {
    const Folder folder;
    const SafeTensors file(
        folder.write("u.safetensors", file_of(R"({"u":{"dtype":"U16","shape":[1],"data_offsets":[0,2]}})", "12")));
    try {
      file.tensor("u");
      FAIL();
    } catch (const ConfigurationError& error) {
      EXPECT_THAT(error.what(), HasSubstr("tensor \"u\" is of dtype U16, which KernBench has not"));
    }
  });
}

TEST(SafeTensors, OfMoreElementsThanATensorCanHaveAreRefusedWhenTheyAreAskedFor) {
  on_tiny([] {
    const Folder folder;
    const std::string path =
        folder.write("e.safetensors",
                     file_of(R"({"e":{"dtype":"F32","shape":[1152921504606846976,4,0],"data_offsets":[0,0]}})", ""));
    const SafeTensors file(path);
    EXPECT_EQ(file.shape("e").size(), 3u);
    try {
      file.tensor("e");
      FAIL();
    } catch (const ConfigurationError& error) {
      EXPECT_EQ(std::string(error.what()),
                path +
                    ": tensor \"e\" cannot be made: a tensor of shape [1152921504606846976, 4, 0] is too large: it "
                    "has more than 2^59 elements");
    }
  });
}

TEST(SafeTensors, NameTheFileOfAnErrorOnce) {
  const Folder folder;
  const auto place_of = [](const std::string& path) {
    try {
      const SafeTensors file(path);
    } catch (const ConfigurationError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with(path)) << error.what();
      return error.where();
    }
    return std::string("it was accepted");
  };
  // The program prints the place in front of the message, which has it already.
  EXPECT_EQ(place_of(folder.file("none.safetensors")), "");
  EXPECT_EQ(place_of(folder.write("bad.safetensors", "{}")), "");
  EXPECT_EQ(place_of(folder.write("bad.index.json", "{}")), "");
}

TEST(SafeTensors, OfTheNameOfTheMetadataAreNotWritten) {
  on_tiny([] {
    const Folder folder;
    try {
      save_file({{"a", torch::ones({1})}, {"__metadata__", torch::ones({1})}}, folder.file("x.safetensors"));
      FAIL();
    } catch (const ValueError& error) {
      EXPECT_THAT(error.what(), HasSubstr("no tensor can be named \"__metadata__\""));
    }
    EXPECT_FALSE(fs::exists(folder.file("x.safetensors")));
  });
}

TEST(SafeTensors, OfNamesAndTextsThatAreNoUtf8AreNotWritten) {
  on_tiny([] {
    const Folder folder;
    const std::string path = folder.file("x.safetensors");
    const auto refusal_of = [&](const std::string& name, const std::map<std::string, std::string>& metadata) {
      try {
        save_file({{name, torch::ones({1})}}, path, metadata);
      } catch (const ConfigurationError& error) {
        return std::string(error.what());
      }
      return std::string("it was written");
    };
    EXPECT_EQ(refusal_of("w\xff", {}),
              path + ": tensor \"w\\xff\": its name is no UTF-8, as the format has all names; rename it");
    EXPECT_THAT(refusal_of("w", {{"key", "\xfe"}}), HasSubstr("__metadata__: \"key\": \"\\xfe\" is no UTF-8"));
    EXPECT_THAT(refusal_of("w", {{"\xfe", "text"}}), HasSubstr("is no UTF-8"));
    EXPECT_FALSE(fs::exists(path));
    EXPECT_EQ(refusal_of("é", {{"ü", "ß"}}), "it was written");
  });
}

TEST(SafeTensors, OfNoDimensionHaveNoPart) {
  on_tiny([] {
    const Folder folder;
    save_file({{"scalar", torch::ones({})}}, folder.file("x.safetensors"));
    const SafeTensors file(folder.file("x.safetensors"));
    for (const std::int64_t dimension : {0, -1}) {
      try {
        file.slice("scalar", dimension, 0, 1);
        ADD_FAILURE();
      } catch (const torch::IndexError& error) {
        EXPECT_THAT(error.what(), HasSubstr("x.safetensors: tensor \"scalar\" has no dimension"));
      }
    }
    EXPECT_EQ(file.tensor("scalar").item<float>(), 1);
  });
}

TEST(SafeTensors, ThatCannotBeWrittenLeaveNothing) {
  on_tiny([] {
    const Folder folder;
    EXPECT_THROW(save_file({{"a", torch::ones({1})}}, folder.file("no/such/folder.safetensors")), ConfigurationError);
    folder.write("old.safetensors", "old");
    save_file({{"a", torch::ones({1})}}, folder.file("old.safetensors"));
    EXPECT_THAT(load_file(folder.file("old.safetensors")).keys(), ElementsAre("a"));
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.file("")), fs::directory_iterator()), 1);
  });
}

}  // namespace
}  // namespace kernbench::safetensors
