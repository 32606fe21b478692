// A training that is killed, and continued by the same command, ends with the same bits as one that is not.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>

#include "belfry/base/file.h"
#include "tests/launch/own_process.h"
#include "tests/support/files.h"
#include "tests/torture/shared/resumable_training.h"

namespace belfry::torture {
namespace {

using testing_support::OwnProcess;
using testing_support::Role;
using testing_support::TempDir;

// What a role is to do is in a file of its directory: a command line that stays the same would not need it.
TrainingOptions options_in(const std::string& directory) {
  TrainingOptions out{.directory = directory + "/run"};
  std::istringstream in(read_file(directory + "/options"));
  in >> out.optimizer >> out.trainer >> out.kill_at >> out.without;
  if (out.without == "-") out.without.clear();
  return out;
}

const auto* const trainee = testing::AddGlobalTestEnvironment(new Role("trainee", [](const std::string& directory) {
  train(options_in(directory));
  return 0;
}));

class ExactResumeTest : public testing::Test {
 protected:
  // Returns what waitpid() says.
  static int run(const TempDir& dir, const std::string& setup, std::int64_t kill_at, const std::string& without = "-") {
    write_file_atomically(dir / "options", setup + " " + std::to_string(kill_at) + " " + without);
    return OwnProcess("trainee", dir.path()).wait().status;
  }
  static bool was_killed(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }
  static Result uninterrupted(const std::string& setup) {
    const TempDir dir;
    EXPECT_EQ(run(dir, setup, 0), 0) << read_file(dir / "output");
    return result_in(dir / "run");
  }
  static void expect_same_when_killed(const std::string& setup, std::initializer_list<std::int64_t> steps) {
    const Result whole = uninterrupted(setup);
    const TempDir dir;
    for (const std::int64_t step : steps) EXPECT_TRUE(was_killed(run(dir, setup, step))) << read_file(dir / "output");
    EXPECT_EQ(run(dir, setup, 0), 0) << read_file(dir / "output");
    EXPECT_EQ(difference(whole, result_in(dir / "run")), "") << setup << "\n" << read_file(dir / "output");
  }
};

TEST_F(ExactResumeTest, AKilledTrainingEndsWithTheSameBits) { expect_same_when_killed("adam simple", {5, 21}); }

TEST_F(ExactResumeTest, AlsoWithTwoTowersOfEitherKind) {
  expect_same_when_killed("momentum ps", {11});
  expect_same_when_killed("sgd replicated", {17});
}

TEST_F(ExactResumeTest, AlsoWithTwoPlayersAndTheirOptimizers) { expect_same_when_killed("adam gan", {14}); }

TEST_F(ExactResumeTest, ARunThatIsDoneIsNotTrainedAgain) {
  const TempDir dir;
  EXPECT_EQ(run(dir, "sgd simple", 0), 0);
  const std::string stats = read_file(dir / "run/stats.json");
  EXPECT_EQ(run(dir, "sgd simple", 0), 0);
  EXPECT_EQ(read_file(dir / "run/stats.json"), stats);
  EXPECT_NE(read_file(dir / "output").find("Nothing is left to train"), std::string::npos);
}

// The comparison would notice parts that are not restored. (./dev torture leaves out each of them.)
TEST_F(ExactResumeTest, DiffersIfOnePartIsNotRestored) {
  const Result whole = uninterrupted("adam simple");
  for (const char* part : {"slots", "QueueInput"}) {
    const TempDir dir;
    EXPECT_TRUE(was_killed(run(dir, "adam simple", 23)));
    EXPECT_EQ(run(dir, "adam simple", 0, part), 0) << read_file(dir / "output");
    EXPECT_NE(difference(whole, result_in(dir / "run")), "") << part;
  }
}

}  // namespace
}  // namespace belfry::torture
