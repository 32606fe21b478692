// Device: where an operation runs, by kind and number: "cpu:0" is the first set of cores of a session.
//
//   const DeviceScope second("cpu:1");
//   SyncMultiDeviceTrainerReplicated trainer({Device("cpu:0"), Device("cpu:1")});
//
// Which kinds exist depends on the backends that a program is linked with (engine/backend.h).
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/graph/location.h"

#pragma GCC visibility push(default)
namespace belfry {

class Device {
 public:
  Device() = default;                                                           // none: the first device of the session
  Device(int number, const Location& where = Location::current());              // NOLINT: "cpu:N"
  Device(const char* name, const Location& where = Location::current());        // NOLINT: braces and scopes take text
  Device(std::string_view name, const Location& where = Location::current());   // NOLINT: see above
  Device(const std::string& name, const Location& where = Location::current())  // NOLINT: see above
      : Device(std::string_view(name), where) {}
  static Device of(std::string_view kind, int number);  // the kind must exist

  bool empty() const { return kind_.empty(); }
  const std::string& kind() const { return kind_; }
  int number() const { return number_; }
  std::string name() const;  // "cpu:1"; "" if empty
  auto operator<=>(const Device&) const = default;

 private:
  std::string kind_;
  int number_ = 0;
};

using Devices = std::vector<Device>;

Devices cpu_devices(int count);                 // cpu:0 to cpu:count-1
std::string to_string(const Devices& devices);  // "cpu:0, cpu:1"

// The kinds that have a registered backend, in alphabetical order.
std::vector<std::string> device_kinds();
// Called when a backend is registered.
void add_device_kind(std::string_view kind);

}  // namespace belfry
#pragma GCC visibility pop
