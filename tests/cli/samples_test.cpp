// The sessions that the guides show: every ```console block is run, and what it shows is compared
// with what the program prints. Runs with the project's root as working directory.
//
// The blocks of a page are one session in one empty directory, so later ones see what earlier ones
// made. A line that begins with "$ " is a command, the lines below it are its standard output, and
// a line "…" stands for any lines. Times, ages, sizes and rates differ from run to run and are
// blanked on both sides.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "base/temp_dir.h"
#include "support/process.h"
#include "support/shell.h"

namespace coffer {
namespace {

struct Sample {
  std::size_t line = 0;
  std::string command;
  std::vector<std::string> output;
};

std::vector<std::string> lines_of(std::istream& in) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<Sample> parse_samples(const std::vector<std::string>& page) {
  std::vector<Sample> samples;
  bool inside = false;
  for (std::size_t i = 0; i < page.size(); ++i) {
    if (page[i].starts_with("```")) {
      inside = !inside && page[i] == "```console";
    } else if (inside && page[i].starts_with("$ ")) {
      samples.push_back({i + 1, page[i].substr(2), {}});
    } else if (inside && !samples.empty()) {
      samples.back().output.push_back(page[i]);
    }
  }
  return samples;
}

std::string normalised(std::string line) {
  static const std::vector<std::pair<std::regex, const char*>> varying = {
      {std::regex(R"(20[2-9]\d-\d\d-\d\d \d\d:\d\d:\d\d UTC)"), "TIME"},
      {std::regex(R"(\d[\d.,]* ?(s|ms|m|h|d)( \d+[hms])? ago)"), "AGE ago"},
      {std::regex(R"(\d[\d.,]* (B|kB|MB|GB)\b)"), "SIZE"},
      {std::regex(R"([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})"), "ID"},
      {std::regex(R"( +$)"), ""},
  };
  for (const auto& [pattern, word] : varying) line = std::regex_replace(line, pattern, word);
  return line;
}

// Whether the lines are as shown, where "…" stands for any number of lines.
bool matches(std::span<const std::string> shown, std::span<const std::string> printed) {
  if (shown.empty()) return printed.empty();
  if (shown[0] == "…") {
    for (std::size_t skip = 0; skip <= printed.size(); ++skip)
      if (matches(shown.subspan(1), printed.subspan(skip))) return true;
    return false;
  }
  return !printed.empty() && normalised(shown[0]) == normalised(printed[0]) &&
         matches(shown.subspan(1), printed.subspan(1));
}

std::vector<std::string> page_lines(const std::string& page) {
  std::ifstream in(page);
  EXPECT_TRUE(in) << page << ": the working directory must be the project's root";
  return lines_of(in);
}

// The README and every guide that shows a session.
std::vector<std::string> pages_with_samples() {
  std::vector<std::string> pages = {"README.md"};
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("docs", error))
    if (entry.path().extension() == ".md" &&
        !parse_samples(page_lines(entry.path().generic_string())).empty())
      pages.push_back(entry.path().generic_string());
  std::ranges::sort(pages);
  return pages;
}

class Samples : public testing::TestWithParam<std::string> {};

TEST_P(Samples, ShowWhatIsPrinted) {
  const std::vector<Sample> samples = parse_samples(page_lines(GetParam()));
  EXPECT_FALSE(samples.empty());
  TempDir dir;
  const std::string tools = std::filesystem::path(test::coffer()).parent_path().string();
  for (const Sample& sample : samples) {
    const std::string where = GetParam() + ":" + std::to_string(sample.line);
    test::Process shell({"/bin/sh", "-c",
                         "cd " + shell_word(dir.path().string()) + " && PATH=" + shell_word(tools) +
                             ":$PATH && " + sample.command});
    const auto end = shell.wait(30'000);
    ASSERT_TRUE(end) << where << ": takes too long: " << sample.command;
    ASSERT_EQ(end->exit_code, 0) << where << ": " << sample.command << "\n" << end->err;
    std::istringstream out(end->out);
    EXPECT_TRUE(matches(sample.output, lines_of(out)))
        << where << ": shows something else than '" << sample.command << "' prints:\n"
        << end->out;
  }
}

INSTANTIATE_TEST_SUITE_P(Pages, Samples, testing::ValuesIn(pages_with_samples()),
                         [](const testing::TestParamInfo<std::string>& page) {
                           return std::filesystem::path(page.param).stem().string();
                         });

TEST(SampleText, AllPagesAreFound) {
  EXPECT_GE(pages_with_samples().size(), 5u) << "the working directory must be the project's root";
}

TEST(SampleText, NamesThisVersion) {
  const std::string version = test::run({"version"}).out;  // "coffer 0.2.0\n"
  static const std::regex version_name(R"(coffer +[0-9]+\.[0-9]+\.[0-9]+)");
  std::size_t named = 0;
  for (const std::string& line : page_lines("README.md"))
    if (std::smatch match; std::regex_search(line, match, version_name)) {
      ++named;
      EXPECT_EQ(std::regex_replace(match.str(), std::regex(" +"), " ") + "\n", version) << line;
    }
  EXPECT_GT(named, 0u);
}

// The comparison itself must object to a difference and accept what varies.
TEST(SampleText, OnlyWhatVariesIsBlanked) {
  const auto same = [](std::vector<std::string> shown, std::vector<std::string> printed) {
    return matches(shown, printed);
  };
  EXPECT_TRUE(same({"size  1.0 kB, 3 s ago"}, {"size  927.4 MB, 12.3 s ago"}));
  EXPECT_TRUE(same({"until 2026-01-02 03:04:05 UTC"}, {"until 2031-10-20 13:14:15 UTC"}));
  EXPECT_TRUE(same({"a", "…", "d"}, {"a", "b", "c", "d"}));
  EXPECT_TRUE(same({}, {}));
  EXPECT_FALSE(same({"height 5"}, {"height 6"}));
  EXPECT_FALSE(same({"made 2017-07-15 03:50:00 UTC"}, {"made 2017-07-15 03:51:00 UTC"}));
  EXPECT_FALSE(same({"a"}, {"a", "b"}));
  EXPECT_FALSE(same({"a", "b"}, {"a"}));
  EXPECT_FALSE(same({"a", "…", "e"}, {"a", "b", "c", "d"}));
}

}  // namespace
}  // namespace coffer
