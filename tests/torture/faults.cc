#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "belfry/base/error.h"
#include "belfry/base/file.h"
#include "belfry/base/log.h"
#include "tests/torture/campaigns.h"
#include "tests/torture/checkpoints.h"
#include "tests/torture/file_calls.h"

namespace belfry::torture {
namespace {

constexpr int kShort = -1;  // no error: a write that writes half
constexpr std::int64_t kFirst = 1;

// A way to save, on top of step 1.
struct Setting {
  const char* name;
  std::uint64_t shard_bytes;
  std::int64_t step;  // that is saved then: another one, or the same again
};
constexpr Setting kSettings[] = {
    {"one file", 0, 2}, {"shards", 30'000, 2}, {"again", 0, 1}, {"shards again", 30'000, 1}};

// Counts the calls, and makes one of them fail.
class Fault : public FileWatch {
 public:
  Fault(const std::string& root, int number, int error) : FileWatch(root), number_(number), error_(error) {}

  Verdict before(const FileCall& call) override {
    kinds.push_back(call.kind);
    if (static_cast<int>(kinds.size()) - 1 != number_) return {};
    if (error_ == kShort) return {.error = 0, .most = std::max<std::size_t>(1, call.data.size() / 2)};
    return {.error = error_, .most = 0};
  }

  std::vector<Kind> kinds;

 private:
  int number_, error_;
};

SaverOptions options(const std::string& directory, const Setting& setting) {
  return {.directory = directory, .keep = 1, .shard_bytes = setting.shard_bytes};
}

struct Attempt {
  std::string error;  // of the save; "" if it worked
  std::string wrong;  // what must not have happened
  std::vector<Kind> kinds;
};

// The state says which of the saves of one step it is of: the epoch.
std::string unlike(const std::string& directory, std::int64_t least_epoch) {
  if (std::string lost = loss_in(directory, std::string(kCheckpointIndex), kFirst); !lost.empty()) return lost;
  const LogRedirect silent([](LogLevel, std::string_view) {}, LogLevel::error);
  const std::int64_t epoch = load_latest_checkpoint(directory)->state.epoch;
  return epoch >= least_epoch ? "" : fmt::format("the newest is of save {}, after save {}", epoch, least_epoch);
}

Attempt attempt(const Setting& setting, int number, int error) {
  const FastDirectory place;
  const std::string directory = place.path() + "/run", history = place.path() + "/history";
  const LogRedirect silent([](LogLevel, std::string_view) {}, LogLevel::error);
  Attempt out;
  CheckpointWriter writer(options(directory, setting));
  writer.write(kFirst, values_of(kFirst, 10'000), {.epoch = 1});
  write_file_atomically(history, "one line\n");
  {
    Fault fault(place.path(), number, error);
    try {
      writer.write(setting.step, values_of(setting.step, 10'000), {.epoch = 2}, {history});
    } catch (const FileError& failure) {
      out.error = failure.what();
    }
    out.kinds = fault.kinds;
  }
  if (number < 0) return out;
  const std::string reason = error == kShort ? "" : std::generic_category().message(error);
  if (!out.error.empty() && (out.error.find(place.path()) == std::string::npos ||
                             out.error.find(reason) == std::string::npos || error == kShort))
    out.wrong = "the error is " + out.error;
  if (out.wrong.empty()) out.wrong = unlike(directory, out.error.empty() ? 2 : 1);
  if (!out.wrong.empty()) return out;
  writer.write(3, values_of(3, 10'000), {.epoch = 3});
  out.wrong = unlike(directory, 3);
  if (out.wrong.empty() && writer.kept().size() != 1) out.wrong = "more is kept than asked for";
  return out;
}

struct Case {
  const Setting* setting;
  int number;
  Kind kind;
  int error;
};

std::vector<Case> all_cases() {
  std::vector<Case> out;
  for (const Setting& setting : kSettings) {
    const std::vector<Kind> kinds = attempt(setting, -1, 0).kinds;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const int number = static_cast<int>(i);
      for (const int error : {ENOSPC, EIO, EACCES}) out.push_back({&setting, number, kinds[i], error});
      if (kinds[i] == Kind::write) out.push_back({&setting, number, kinds[i], kShort});
    }
  }
  return out;
}

// Unlinking what is old, and telling the index so, may fail: the next save does it. Everything else is reported.
bool may_be_silent(const Case& fault, const std::vector<Case>& all) {
  if (fault.error == kShort || fault.kind == Kind::unlink) return true;
  return std::ranges::any_of(all, [&](const Case& before) {
    return before.setting == fault.setting && before.kind == Kind::unlink && before.number < fault.number;
  });
}

}  // namespace

Outcome faults(std::int64_t count) {
  const std::vector<Case> all = all_cases();
  const auto size = static_cast<std::int64_t>(all.size());
  Outcome out;
  for (; out.tries < std::min(count, size); ++out.tries) {
    const Case& fault = all[static_cast<std::size_t>(out.tries * size / std::min(count, size))];
    Attempt result = attempt(*fault.setting, fault.number, fault.error);
    if (result.wrong.empty() && result.error.empty() && !may_be_silent(fault, all)) result.wrong = "no error";
    if (result.wrong.empty()) continue;
    ++out.bad;
    report(fmt::format("faults: {}, call {} ({}) with {}: {}", fault.setting->name, fault.number, name_of(fault.kind),
                       fault.error == kShort ? "a short write" : std::generic_category().message(fault.error),
                       result.wrong));
  }
  return out;
}

}  // namespace belfry::torture
