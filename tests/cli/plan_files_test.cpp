// Plans that are kept in files.
#include "cli/plan_files.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/process.h"

namespace kernbench::cli {
namespace {

namespace fs = std::filesystem;

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

class PlanFilesTest : public testing::Test {
 protected:
  std::string cache() const { return directory_.path("cache"); }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& at : fs::directory_iterator(cache() + "/plans")) found.push_back(at.path());
    return found;
  }

 private:
  TemporaryDirectory directory_;
};

TEST_F(PlanFilesTest, YieldWhatWasKeptUnderTheSameKeyByTheSameVersion) {
  PlanFiles plans(cache(), "1");
  EXPECT_EQ(plans.find("a"), std::nullopt) << "there is no folder yet";
  plans.keep("a", "plan of a");
  plans.keep("b", "");
  EXPECT_EQ(plans.find("a"), "plan of a");
  EXPECT_EQ(plans.find("b"), "");
  EXPECT_EQ(plans.find("ab"), std::nullopt);
  EXPECT_EQ(PlanFiles(cache(), "1").find("a"), "plan of a");
  EXPECT_EQ(PlanFiles(cache(), "2").find("a"), std::nullopt);
  plans.keep("a", "another");
  EXPECT_EQ(plans.find("a"), "another");
  EXPECT_EQ(files().size(), 2u) << "nothing is left of how they were written";
}

TEST_F(PlanFilesTest, ThatAreDamagedCountAsNone) {
  PlanFiles plans(cache(), "1");
  plans.keep("a", "plan of a");
  const std::string file = files().front();
  const std::string whole = contents_of(file);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write_text(file, whole.substr(0, length));
    EXPECT_EQ(plans.find("a"), std::nullopt) << length;
  }
  std::string changed = whole;
  changed[2] ^= 1;
  write_text(file, changed);
  EXPECT_EQ(plans.find("a"), std::nullopt);
  plans.keep("a", "plan of a");
  EXPECT_EQ(plans.find("a"), "plan of a");
}

TEST_F(PlanFilesTest, GoWhenTheyAreTooOldOrTooMuch) {
  PlanFiles first(cache(), "1");
  first.keep("old", "x");
  fs::last_write_time(files().front(), fs::file_time_type::clock::now() - std::chrono::hours(24 * 31));
  PlanFiles second(cache(), "1");
  second.keep("new", "x");
  EXPECT_EQ(second.find("old"), std::nullopt);
  EXPECT_EQ(second.find("new"), "x");
  PlanFiles small(cache(), "1", {.bytes = 1});
  small.keep("newest", "x");
  EXPECT_EQ(small.find("new"), std::nullopt);
  EXPECT_EQ(small.find("newest"), "x") << "what was just kept stays";
}

TEST_F(PlanFilesTest, ThatCannotBeWrittenAreNotKept) {
  write_text(cache(), "a file where the folder should be");
  PlanFiles plans(cache(), "1");
  plans.keep("a", "x");
  EXPECT_EQ(plans.find("a"), std::nullopt);
}

}  // namespace
}  // namespace kernbench::cli
