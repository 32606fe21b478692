#include "belfry/session/internal/tensor_checks.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "belfry/array/internal/stored_array.h"
#include "belfry/base/check.h"
#include "belfry/base/internal/crc32c.h"

namespace belfry {
namespace {

constexpr std::uint64_t kGivenUp = std::numeric_limits<std::uint64_t>::max();

std::tuple<std::uint64_t, std::uint64_t> place_of(const NamedEntry* named) {
  return {named->second.begin, named->second.end};
}

}  // namespace

std::vector<const NamedEntry*> in_order_of_data(const SafetensorsHeader& header) {
  std::vector<const NamedEntry*> order;
  for (const NamedEntry& named : header.tensors) order.push_back(&named);
  std::ranges::sort(order, {}, place_of);
  return order;
}

TensorChecks::TensorChecks(const SafetensorsHeader& header, std::span<const std::uint32_t> checksums,
                           const std::string& path)
    : path_(path) {
  for (auto checksum = checksums.begin(); const NamedEntry& named : header.tensors)
    order_.emplace_back(&named, *checksum++);
  std::ranges::sort(order_, {}, [](const auto& pair) { return place_of(pair.first); });
}

void TensorChecks::take(std::span<const std::byte> data, std::uint64_t done) {
  const std::uint64_t end = done + data.size();
  for (; next_ < order_.size(); ++next_, crc_ = 0) {
    const auto& [named, expected] = order_[next_];
    const std::uint64_t from = std::max(named->second.begin, done), to = std::min(named->second.end, end);
    if (from < to) crc_ = crc32c(data.subspan(from - done, to - from), crc_);
    if (named->second.end > end) return;
    BELFRY_CHECK_AS(FileError, crc_ == expected,
                    "[safetensors] '{}': tensor {}: expected data with the checksum {:08x}, got {:08x}. The file is "
                    "damaged.",
                    path_, in_quotes(named->first), expected, crc_);
  }
}

ChecksBehind::ChecksBehind(TensorChecks checks, std::span<const std::byte> data)
    : checks_(std::move(checks)), data_(data), thread_(start_thread([this] { follow(); })) {}

ChecksBehind::~ChecksBehind() {
  let(kGivenUp);
  if (thread_.joinable()) thread_.join();
}

void ChecksBehind::let(std::uint64_t bytes) {
  there_ = bytes;
  there_.notify_one();
}

void ChecksBehind::finish() {
  thread_.join();
  if (failure_) std::rethrow_exception(failure_);
}

void ChecksBehind::follow() try {
  for (std::uint64_t done = 0; done < data_.size();) {
    there_.wait(done);
    const std::uint64_t now = there_;
    if (now == kGivenUp) return;
    checks_.take(data_.subspan(done, now - done), done);
    done = now;
  }
} catch (...) {
  failure_ = std::current_exception();
}

}  // namespace belfry
