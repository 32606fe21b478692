#include "tests/torture/speed.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "belfry/base/error.h"
#include "belfry/base/function_ref.h"
#include "belfry/session/checkpoint.h"
#include "belfry/session/checkpoint_writer.h"
#include "tests/torture/checkpoints.h"
#include "tools/scratch_directory.h"

namespace belfry::torture {
namespace {

constexpr std::size_t kPiece = 1 << 20;

double seconds_of(FunctionRef<void()> work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void require(bool condition) {
  if (!condition) throw FileError("[torture] expected plain reads and writes to work, got an error.");
}

// Ten tensors: more would be files of another kind than one large one.
std::map<std::string, Array> model_of(std::int64_t megabytes) {
  std::map<std::string, Array> out;
  for (int i = 0; i < 10; ++i)
    out.emplace("layer" + std::to_string(i) + "/W", Array::full(f32, {megabytes * 25'000}, i + 1));
  return out;
}

void write_plainly(const std::string& path, const std::map<std::string, Array>& model) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  require(file >= 0);
  for (const auto& [name, array] : model)
    for (std::size_t done = 0; done < array.bytes(); done += kPiece) {
      const std::size_t size = std::min(kPiece, array.bytes() - done);
      require(::write(file, static_cast<const char*>(array.raw()) + done, size) == static_cast<ssize_t>(size));
    }
  require(::fsync(file) == 0 && ::close(file) == 0);
}

void read_plainly(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY);
  require(file >= 0);
  std::vector<char> piece(kPiece);
  while (::read(file, piece.data(), piece.size()) > 0) {
  }
  ::close(file);
}

// Takes the file out of the system's memory.
void forget(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY);
  require(file >= 0 && ::fsync(file) == 0 && ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0);
  ::close(file);
}

}  // namespace

Speeds measure_speeds(std::int64_t megabytes) {
  constexpr int kTurns = 5;
  const tools::ScratchDirectory place;
  const std::string plain = place.path() + "/plain", run = place.path() + "/run";
  const auto model = model_of(megabytes);
  CheckpointWriter writer({.directory = run, .keep = 1});
  std::string saved;
  Checkpoint loaded;  // freed between the measurements
  Speeds out;
  const auto note = [&](double& best, double seconds) {
    best = std::max(best, static_cast<double>(megabytes) / seconds);
  };
  for (std::int64_t turn = 0; turn < kTurns; ++turn) {
    ::unlink(plain.c_str());
    note(out.plain_write, seconds_of([&] { write_plainly(plain, model); }));
    note(out.save, seconds_of([&] { saved = writer.write(turn, model, {}); }));
    forget(plain);
    note(out.plain_read_cold, seconds_of([&] { read_plainly(plain); }));
    forget(saved);
    note(out.load_cold, seconds_of([&] { loaded = load_checkpoint(saved); }));
    loaded = {};
    note(out.plain_read, seconds_of([&] { read_plainly(plain); }));
    note(out.load, seconds_of([&] { loaded = load_checkpoint(saved); }));
    loaded = {};
  }
  return out;
}

}  // namespace belfry::torture
