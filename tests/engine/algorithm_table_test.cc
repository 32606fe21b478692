#include "belfry/engine/cpu/compile/algorithm_table.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "belfry/base/file.h"
#include "belfry/engine/cpu/kernel/machine.h"
#include "tests/session/session_testing.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using nlohmann::json;
using testing_support::LogLines;
using testing_support::put_bytes;
using testing_support::TempDir;
using Source = AlgorithmTable::Source;

const std::vector<std::string> kKnown{"fast", "exact"};

// Sets a variable of the environment, or removes it, and puts it back.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  }
  ~Environment() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(AlgorithmTable, WhatWasTimedIsFoundByTheNextTableOfTheFile) {
  const TempDir dir;
  const std::string path = dir / "not/there/yet.json";
  LogLines log;
  AlgorithmTable first(path);
  EXPECT_EQ(first.use("a", kKnown), nullptr);
  EXPECT_EQ(first.add("a", "exact").source, Source::timed);
  first.add("b", "fast");
  first.write();

  AlgorithmTable second(path);
  EXPECT_TRUE(second.used().empty()) << "nobody has asked for it";
  const AlgorithmTable::Entry* found = second.use("a", kKnown);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->algorithm, "exact");
  EXPECT_EQ(found->source, Source::file);
  EXPECT_EQ(second.used(), (AlgorithmTable::Choices{{"a", "exact"}}));
  EXPECT_EQ(log.text, "");
}

TEST(AlgorithmTable, AnAlgorithmThatIsNotKnownIsNoEntry) {
  const TempDir dir;
  AlgorithmTable first(dir / "t.json");
  first.add("a", "from a later version");
  first.write();
  AlgorithmTable second(dir / "t.json");
  EXPECT_EQ(second.use("a", kKnown), nullptr);
  EXPECT_TRUE(second.used().empty());
  second.add("a", "fast");
  second.write();
  EXPECT_EQ(AlgorithmTable(dir / "t.json").use("a", kKnown)->algorithm, "fast");
}

TEST(AlgorithmTable, ADamagedFileIsReportedAndReplaced) {
  const TempDir dir;
  const std::string path = dir / "t.json";
  AlgorithmTable whole(path);
  whole.add("a", "fast");
  whole.write();
  json good = json::parse(read_file(path)), other_format = good, not_texts = good, no_choices = good;
  other_format["format"] = 2;
  not_texts["algorithms"]["a"] = 7;
  no_choices.erase("algorithms");
  const std::vector<std::pair<std::string, std::string>> damaged{
      {good.dump().substr(0, 40), "expected well-formed JSON"},
      {"", "expected well-formed JSON"},
      {"[1]", "expected a JSON object"},
      {other_format.dump(), "expected choices of format 1, got format 2."},
      {not_texts.dump(), "expected an object of strings for 'algorithms', got number"},
      {no_choices.dump(), "expected a field 'algorithms', got none"}};
  for (const auto& [text, complaint] : damaged) {
    put_bytes(path, text);
    LogLines log;
    AlgorithmTable table(path);
    EXPECT_TRUE(contains(log.text, "[autotune] '" + path + "'")) << log.text;
    EXPECT_TRUE(contains(log.text, complaint)) << log.text;
    EXPECT_TRUE(contains(log.text, "Its choices are not used, and the file will be replaced.")) << log.text;
    EXPECT_EQ(table.use("a", kKnown), nullptr);
    table.add("b", "exact");
    table.write();
    EXPECT_EQ(json::parse(read_file(path))["algorithms"], json({{"b", "exact"}}));
  }
}

TEST(AlgorithmTable, AnotherMachinesFileIsReportedAndReplaced) {
  const TempDir dir;
  const std::string path = dir / "t.json";
  {
    AlgorithmTable own(path);
    own.add("a", "fast");
    own.write();
  }
  for (const char* part : {"cpu", "isa", "onednn", "threads"}) {
    json foreign = json::parse(read_file(path));
    foreign["machine"][part] = "other";
    put_bytes(path, foreign.dump());
    LogLines log;
    AlgorithmTable table(path);
    EXPECT_TRUE(contains(log.text, "expected the choices of this machine (cpu ")) << log.text;
    EXPECT_TRUE(contains(log.text, std::string(part) + " other")) << log.text;
    EXPECT_EQ(table.use("a", kKnown), nullptr) << part;
    table.add("a", "fast");
    table.write();
    EXPECT_EQ(AlgorithmTable(path).use("a", kKnown)->algorithm, "fast") << part;
  }
}

TEST(AlgorithmTable, ACheckpointsChoicesWinAndStayOutOfTheFile) {
  const TempDir dir;
  const std::string path = dir / "t.json";
  AlgorithmTable before(path);
  before.add("a", "fast");
  before.write();

  AlgorithmTable table(path);
  table.restore({{"a", "exact"}, {"never asked for", "fast"}, {"gone", "from an old version"}});
  EXPECT_EQ(table.use("a", kKnown)->algorithm, "exact");
  EXPECT_EQ(table.use("a", kKnown)->source, Source::checkpoint);
  EXPECT_EQ(table.used().size(), 3u) << "the next checkpoint carries on what this one had";
  {
    LogLines log;
    EXPECT_EQ(table.use("gone", kKnown), nullptr);
    EXPECT_TRUE(contains(log.text,
                         "[autotune] expected an available algorithm for 'gone', got the checkpoint's "
                         "'from an old version'. It is timed again"))
        << log.text;
  }
  table.add("b", "exact");
  table.write();
  EXPECT_EQ(json::parse(read_file(path))["algorithms"], json({{"a", "fast"}, {"b", "exact"}}));
}

TEST(AlgorithmTable, ProcessesThatShareAFileKeepEachOthersChoices) {
  const TempDir dir;
  AlgorithmTable one(dir / "t.json"), two(dir / "t.json");
  one.add("a", "fast");
  two.add("b", "exact");
  one.write();
  two.write();
  AlgorithmTable both(dir / "t.json");
  EXPECT_EQ(both.use("a", kKnown)->algorithm, "fast");
  EXPECT_EQ(both.use("b", kKnown)->algorithm, "exact");
}

TEST(AlgorithmTable, WhoWritesAtTheSameTimeLosesNothing) {
  const TempDir dir;
  constexpr int kWriters = 4, kWrites = 8;
  const auto problem = [](int writer, int i) { return "p" + std::to_string(writer) + "-" + std::to_string(i); };
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w)
    writers.emplace_back([&, w] {
      for (int i = 0; i < kWrites; ++i) {
        AlgorithmTable table(dir / "t.json");
        table.add(problem(w, i), "fast");
        table.write();
      }
    });
  for (std::thread& writer : writers) writer.join();
  AlgorithmTable all(dir / "t.json");
  for (int w = 0; w < kWriters; ++w)
    for (int i = 0; i < kWrites; ++i) EXPECT_NE(all.use(problem(w, i), kKnown), nullptr) << problem(w, i);
}

TEST(AlgorithmTable, WhatIsInTheFileAlreadyStays) {
  const TempDir dir;
  AlgorithmTable one(dir / "t.json"), two(dir / "t.json");
  one.add("a", "fast");
  two.add("a", "exact");
  one.write();
  two.write();
  EXPECT_EQ(two.use("a", kKnown)->algorithm, "exact") << "what it has run with";
  EXPECT_EQ(AlgorithmTable(dir / "t.json").use("a", kKnown)->algorithm, "fast");
}

TEST(AlgorithmTable, AFileThatCannotBeWrittenIsAWarning) {
  const TempDir dir;
  put_bytes(dir / "file", "");
  LogLines log;
  AlgorithmTable table(dir / "file/t.json");
  table.add("a", "fast");
  table.write();
  EXPECT_TRUE(contains(log.text, "expected to save the choices there, got: ")) << log.text;
  EXPECT_TRUE(contains(log.text, ". The next program will time them again")) << log.text;
  EXPECT_EQ(table.use("a", kKnown)->algorithm, "fast");
}

TEST(AlgorithmTable, TheUsualFileIsInTheUsersCacheAndNamesTheMachine) {
  const std::string name = "/belfry/autotune-cpu-some-cpu-r-7-isa-avx2.json";
  const std::map<std::string, std::string> machine{{"cpu", "Some CPU(R) 7"}, {"isa", "avx2"}};
  const Environment home("HOME", "/home/me");
  {
    const Environment cache("XDG_CACHE_HOME", "/tmp/cache");
    EXPECT_EQ(autotune_cache_file(machine), "/tmp/cache" + name);
  }
  for (const char* unusable : {"", "relative/path", static_cast<const char*>(nullptr)}) {
    const Environment cache("XDG_CACHE_HOME", unusable);
    EXPECT_EQ(autotune_cache_file(machine), "/home/me/.cache" + name);
    const Environment nowhere("HOME", nullptr);
    EXPECT_EQ(error_of([&] { autotune_cache_file(machine); }),
              "[autotune] expected XDG_CACHE_HOME or HOME, for where to keep this machine's choices, got neither. Set "
              "SessionConfig::autotune.file.");
  }
  const TempDir dir;
  const Environment cache("XDG_CACHE_HOME", dir.path().c_str());
  EXPECT_EQ(AlgorithmTable("").path(), autotune_cache_file(this_machine()));
}

TEST(AlgorithmTable, ThisMachineIsDescribed) {
  const std::map<std::string, std::string> machine = this_machine();
  ASSERT_EQ(machine.size(), 4u);
  for (const auto& [what, value] : machine) EXPECT_FALSE(value.empty()) << what;
  EXPECT_EQ(machine, this_machine());
}

}  // namespace
}  // namespace belfry
