#include "belfry/graph/device.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "belfry/base/check.h"
#include "belfry/base/mutex.h"

namespace belfry {
namespace {

constexpr int kMostDevices = 10000;

struct Kinds {
  Mutex mutex;
  std::set<std::string, std::less<>> names BELFRY_GUARDED_BY(mutex);
};

Kinds& kinds() {
  static Kinds instance;
  return instance;
}

bool exists(std::string_view kind) {
  const MutexLock lock(kinds().mutex);
  return kinds().names.contains(kind);
}

std::string list_of_kinds() {
  std::string out;
  for (const std::string& kind : device_kinds()) out += fmt::format("{}{}", out.empty() ? "" : ", ", kind);
  return out.empty() ? "none" : out;
}

// A number written with digits only; -1 for anything else.
int parse_number(std::string_view text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size() && text[0] != '-';
  return whole && number < kMostDevices ? number : -1;
}

}  // namespace

Device::Device(int number, const Location& where) : kind_("cpu"), number_(number) {
  BELFRY_CHECK(number >= 0 && number < kMostDevices, "[Device] expected a number from 0 up, got {} (at {}).", number,
               to_string(current_location(where)));
}

Device::Device(const char* name, const Location& where) : Device(std::string_view(name), where) {}

Device::Device(std::string_view name, const Location& where) {
  if (name.empty()) return;
  const std::size_t colon = name.find(':');
  kind_ = name.substr(0, colon);
  number_ = colon == std::string_view::npos ? -1 : parse_number(name.substr(colon + 1));
  BELFRY_CHECK(number_ >= 0, "[Device] expected a kind and a number, such as \"cpu:0\", got \"{}\" (at {}).", name,
               to_string(current_location(where)));
  BELFRY_CHECK(exists(kind_),
               "[Device] expected a kind of device that this program has, got \"{}\" (at {}). It has: {}.", name,
               to_string(current_location(where)), list_of_kinds());
}

Device Device::of(std::string_view kind, int number) {
  Device out;
  out.kind_ = kind;
  out.number_ = number;
  return out;
}

std::string Device::name() const { return empty() ? "" : fmt::format("{}:{}", kind_, number_); }

Devices cpu_devices(int count) {
  BELFRY_CHECK(count >= 1, "[cpu_devices] expected at least one device, got {}.", count);
  Devices out;
  for (int i = 0; i < count; ++i) out.emplace_back(i);
  return out;
}

std::string to_string(const Devices& devices) {
  std::string out;
  for (const Device& device : devices) out += fmt::format("{}{}", out.empty() ? "" : ", ", device.name());
  return out;
}

std::vector<std::string> device_kinds() {
  const MutexLock lock(kinds().mutex);
  return {kinds().names.begin(), kinds().names.end()};
}

void add_device_kind(std::string_view kind) {
  const MutexLock lock(kinds().mutex);
  kinds().names.emplace(kind);
}

}  // namespace belfry
