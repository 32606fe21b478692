// Thousands of damaged files for each reader: each is refused with an Error or read into arrays that can be used.
// (./dev asan runs this too, and sees what points outside of its memory.)
#include <gtest/gtest.h>

#include "belfry/array/npz.h"
#include "belfry/base/file.h"
#include "belfry/session/checkpoint.h"
#include "belfry/session/checkpoint_writer.h"
#include "belfry/session/safetensors.h"
#include "tests/session/session_testing.h"
#include "tests/support/arrays.h"
#include "tests/support/files.h"
#include "tests/support/mutations.h"
#include "tests/support/zip_maker.h"

namespace belfry {
namespace {

using testing_support::le;
using testing_support::LogLines;
using testing_support::Mutator;
using testing_support::npy;
using testing_support::npy_dict;
using testing_support::one_of_each;
using testing_support::put_bytes;
using testing_support::sum_of_all;
using testing_support::survive;
using testing_support::Survived;
using testing_support::TempDir;
using testing_support::zip_of;
using testing_support::ZipPart;

class MutationTest : public testing::Test {
 protected:
  std::string at(const char* name, const std::string& bytes) const {
    put_bytes(dir / name, bytes);
    return dir / name;
  }
  TempDir dir;
};

TEST_F(MutationTest, DamagedSafetensorsAreRefusedOrRead) {
  write_safetensors(dir / "good", one_of_each(), {{"k", "v"}});
  std::string good = read_file(dir / "good");
  good.replace(good.find("belfry_checksums"), 16, "another_programs");  // without checksums more of it is read
  const auto length = static_cast<unsigned char>(good[0]) + 256u * static_cast<unsigned char>(good[1]);
  const std::string text = good.substr(8, length), data = good.substr(8 + length);
  Mutator mutate(1);
  const auto damaged = [&] {
    if (mutate.coin()) return mutate(good);
    // With a length that is right, so that the header is looked at.
    const std::string changed = mutate(text);
    return le<std::uint64_t>(changed.size()) + changed + (mutate.coin() ? data : mutate(data));
  };
  const Survived survived = survive(
      6000, damaged, [&](const std::string& bytes) { sum_of_all(read_safetensors(at("damaged", bytes)).tensors); });
  EXPECT_GT(survived.refused, 3000);
  EXPECT_GT(survived.read, 30);
}

TEST_F(MutationTest, DamagedArchivesAreRefusedOrRead) {
  write_npz(dir / "good", one_of_each());
  const std::string good = read_file(dir / "good");
  Mutator mutate(2);
  const Survived survived = survive(
      4000, [&] { return mutate(good); },
      [&](const std::string& bytes) { sum_of_all(read_npz(at("damaged", bytes))); });
  EXPECT_GT(survived.refused, 3000);
  EXPECT_GT(survived.read, 10);
}

// Inside an archive whose checksums are right, so that the .npy header is looked at.
TEST_F(MutationTest, DamagedNpyEntriesAreRefusedOrRead) {
  Mutator mutate(3);
  const std::string data(24, '\1');
  const std::vector<std::string> good{npy(npy_dict("<f4", "(2, 3)"), data), npy(npy_dict("<i8", "(3,)"), data, 2),
                                      npy(npy_dict("|b1", "(2, 3, 4)", "True"), data, 3)};
  std::size_t next = 0;
  const auto damaged = [&] {
    const std::string& entry = good[next++ % good.size()];
    std::string changed = mutate(entry);
    if (mutate.coin()) {  // only the dict, between a front and data that are right
      const std::size_t begin = entry.find('{'), end = entry.find('\n') + 1;
      changed = npy(mutate(entry.substr(begin, end - begin)), data);
    }
    return zip_of({ZipPart{.name = "w.npy", .content = changed, .method = static_cast<std::uint16_t>(next % 2 * 8)}});
  };
  const Survived survived =
      survive(6000, damaged, [&](const std::string& bytes) { sum_of_all(read_npz(at("damaged", bytes))); });
  EXPECT_GT(survived.refused, 3000);
  EXPECT_GT(survived.read, 30);
}

TEST_F(MutationTest, DamagedStatesOfCheckpointsAreRefusedOrRead) {
  const std::string good =
      to_json({.step = 7, .epoch = 3, .seeds = {{"graph", 5}}, .versions = {{"x", "1"}}, .user = {{"k", "v"}}}, "");
  Mutator mutate(4);
  const Survived survived = survive(
      4000, [&] { return mutate(good); },
      [&](const std::string& text) {
        const CheckpointState state = checkpoint_state_from_json(text, "here");
        EXPECT_GE(state.step, 0);
        EXPECT_GE(state.epoch, 0);
      });
  EXPECT_GT(survived.refused, 2000);
  EXPECT_GT(survived.read, 30);
}

TEST_F(MutationTest, DamagedIndicesLeadNowhereElse) {
  {
    CheckpointWriter writer({.directory = dir.path()});
    for (int step = 1; step <= 3; ++step) writer.write(step, {{"w", Array(1.f)}}, {});
  }
  const std::string good = read_file(dir / "checkpoint");
  Mutator mutate(5);
  int warned = 0;
  const Survived survived = survive(
      3000, [&] { return mutate(good); },
      [&](const std::string& text) {
        LogLines log;
        put_bytes(dir / "checkpoint", text);
        const auto latest = load_latest_checkpoint(dir.path());
        ASSERT_TRUE(latest.has_value()) << "the directory has complete ones, whatever the index says";
        EXPECT_EQ(latest->path, dir / ("model-" + std::to_string(latest->state.step) + ".safetensors"));
        warned += log.text.empty() ? 0 : 1;
      });
  EXPECT_EQ(survived.refused, 0);
  EXPECT_GT(warned, 1000);
}

}  // namespace
}  // namespace belfry
