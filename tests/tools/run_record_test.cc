#include "tools/run_record.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "belfry/base/internal/descriptor.h"
#include "tests/tools/runs_testing.h"
#include "tests/tools/weights_testing.h"
#include "tools/resume.h"
#include "tools/summary.h"

namespace belfry::tools {
namespace {

using testing_support::file_error_of;
using testing_support::TempDir;
using State = RunRecord::State;

RunRecord record(const std::string& fields) {
  const TempDir dir;
  return read_run_records(put_run(dir.path(), "run.json", run_json(fields))).at(0);
}

std::string running_as(std::int64_t process, const std::string& host = this_host()) {
  return R"("state": "running", "auto_resume": true, "host": ")" + host + R"(", "process": )" + std::to_string(process);
}

// The number of a process that has ended.
std::int64_t dead_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  int status = 0;
  ::waitpid(child, &status, 0);
  return child;
}

TEST(RunRecord, SaysWhatTheRunWas) {
  const RunRecord run = record(
      R"("state": "interrupted", "signal": 15, "ended": "2026-11-19T05:00:00Z", "auto_resume": true, "reason": "SIGTERM",
         "epoch": 5, "step": 500, "from": {"checkpoint": "model-100.safetensors", "step": 100})");
  EXPECT_EQ(run.program, "net");
  EXPECT_EQ(run.command, (std::vector<std::string>{"./net", "--name", "a b"}));
  EXPECT_EQ(run.state, State::interrupted);
  EXPECT_EQ(run.signal, 15);
  EXPECT_EQ(run.step, 500);
  EXPECT_EQ(run.from_checkpoint, "model-100.safetensors");
  EXPECT_EQ(run.from_step, 100);
  EXPECT_EQ(run.seed, 1u);
  EXPECT_TRUE(run.auto_resume);
  const TempDir empty;
  EXPECT_TRUE(read_run_records(empty.path()).empty());
}

TEST(RunRecord, OfAProcessThatIsGoneSaysThatItWasKilled) {
  EXPECT_EQ(record(running_as(dead_process())).state, State::killed);
  EXPECT_EQ(record(running_as(::getppid())).state, State::running);
  EXPECT_EQ(record(running_as(dead_process(), "another host")).state, State::running);
}

TEST(RunRecord, OfAProcessWhoseNumberAnotherOneHasSaysSoToo) {
  const TempDir dir;
  put_run(dir.path(), "run.json", run_json(running_as(::getppid())));
  put_run(dir.path(), "run.lock", "");
  EXPECT_EQ(read_run_records(dir.path()).at(0).state, State::killed);
  const Descriptor lock(::open((dir / "run.lock").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
  EXPECT_EQ(read_run_records(dir.path()).at(0).state, State::running);
}

TEST(RunRecord, ThatIsDamagedIsAClearError) {
  const auto error = [](const std::string& text) {
    const TempDir dir;
    put_run(dir.path(), "run.json", text);
    const std::string out = file_error_of([&] { read_run_records(dir.path()); });
    EXPECT_TRUE(out.starts_with("[run] '" + dir.path() + "/run.json'")) << out;
    return out;
  };
  const std::string whole = run_json(R"("state": "finished")");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_TRUE(contains(error(whole.substr(0, size)), "The file is damaged or cut short.")) << size;
  EXPECT_TRUE(
      contains(error(R"({"format": 2, "runs": []})"), "expected a file of format 1, got format 2. Read it with"));
  EXPECT_TRUE(contains(error(R"({"format": 1})"), "expected a field 'runs', got none."));
  EXPECT_TRUE(contains(error(R"({"format": 1, "runs": []})"), "expected a list of runs, got an empty one."));
  EXPECT_TRUE(contains(error("[]"), "expected an object, got array."));
  EXPECT_TRUE(contains(error(run_json(R"("state": "dancing")")), "run 1: expected a state like 'running'"));
  EXPECT_TRUE(contains(error(run_json(R"("state": "failed", "signal": "x")")),
                       "expected a whole number for 'signal', got string."));
  EXPECT_TRUE(contains(error(run_json(R"("state": "failed", "from": 3)")), "'from': expected an object, got number."));
  EXPECT_TRUE(contains(error(std::string(100'000, '[')), "expected JSON of at most 8 levels, got more."));
}

TEST(Resume, PrintsTheCommandForAShell) {
  const TempDir dir;
  put_run(dir.path(), "run.json", run_json(R"("state": "interrupted", "auto_resume": true)"));
  EXPECT_EQ(printed_by([&] { EXPECT_EQ(resume({.run = dir.path()}), 0); }),
            "cd '/where it/ran' && ./net --name 'a b'\n");
  const std::string json = printed_by([&] { EXPECT_EQ(resume({.run = dir.path(), .json = true}), 0); });
  EXPECT_TRUE(contains(json, "\"resumable\": true"));
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("$(x)"), "'$(x)'");
  EXPECT_EQ(shell_quoted("~"), "'~'");
}

TEST(Resume, SaysWhyNot) {
  const TempDir dir;
  const auto error = [&](const std::string& fields) {
    put_run(dir.path(), "run.json", run_json(fields));
    EXPECT_TRUE(contains(printed_by([&] { EXPECT_EQ(resume({.run = dir.path(), .json = true}), 1); }), "\"reason\": "));
    return error_of([&] { resume({.run = dir.path()}); });
  };
  EXPECT_TRUE(contains(error(R"("state": "finished", "reason": "finished epoch 5", "auto_resume": true)"),
                       "but the run is finished (finished epoch 5)."));
  EXPECT_TRUE(
      contains(error(running_as(::getppid())), "but it is running now, as process " + std::to_string(::getppid())));
  EXPECT_TRUE(contains(error(R"("state": "failed")"), "but it was not started with auto resume: "));
  std::filesystem::remove(dir / "run.json");
  EXPECT_TRUE(contains(error_of([&] { resume({.run = dir.path()}); }), "expected a run.json in"));
  EXPECT_TRUE(contains(error_of([&] { resume({.run = dir / "none"}); }), "expected the directory of a run"));
}

TEST(Summary, ShowsTheStateTheNumbersAndTheCheckpoints) {
  const TempDir dir;
  put_run(dir.path(), "run.json", run_json(R"("state": "interrupted", "signal": 2, "epoch": 3, "step": 200)"));
  put_run(dir.path(), "stats.json",
          R"([{"epoch_num": 1, "global_step": 100, "cost": 2.5, "accuracy": 0.5},
              {"epoch_num": 2, "global_step": 200, "cost": "nan", "accuracy": 0.25}])");
  put_checkpoint(dir.path(), 100, layer(1));
  put_checkpoint(dir.path(), 200, layer(2));
  std::filesystem::resize_file(dir / "model-200.safetensors", 100);
  const std::string out = printed_by([&] { summarize({.run = dir.path()}); });
  for (const char* line :
       {"  state      interrupted by signal 2\n", "  command    ./net --name 'a b'\n", "  step       200\n",
        "cost       nan   2.5         1  lowest\n", "accuracy  0.25   0.5         1  highest\n",
        "model-100    100      1", "model-200    200      ?  100 B  damaged: expected a header of at most 92 bytes"})
    EXPECT_TRUE(contains(out, line)) << line << out;
  EXPECT_TRUE(contains(printed_by([&] { summarize({.run = dir.path(), .json = true}); }), "\"complete\": false"));
}

TEST(Summary, WorksWithoutRunJson) {
  const TempDir dir;
  put_run(dir.path(), "stats.json", R"([{"epoch_num": 4, "global_step": 400, "cost": 1}])");
  const std::string out = printed_by([&] { summarize({.run = dir.path()}); });
  EXPECT_TRUE(contains(out, "  run    unknown: there is no run.json\n  epoch  4\n  step   400\n")) << out;
  EXPECT_TRUE(contains(out, "\nno checkpoints\n"));
  const TempDir empty;
  EXPECT_TRUE(contains(file_error_of([&] { summarize({.run = empty.path()}); }),
                       "which has no run.json, no stats.json and no checkpoints."));
}

}  // namespace
}  // namespace belfry::tools
