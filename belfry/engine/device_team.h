// The threads of a session's devices. Device 0 uses the caller's thread; every further device has a separate thread,
// which waits here between runs.
#pragma once

#include <memory>
#include <vector>

#include "belfry/base/function_ref.h"
#include "belfry/engine/passes.h"

namespace belfry {

class DeviceTeam {
 public:
  explicit DeviceTeam(std::vector<DeviceInfo> devices);
  ~DeviceTeam();
  DeviceTeam(const DeviceTeam&) = delete;
  DeviceTeam& operator=(const DeviceTeam&) = delete;

  const std::vector<DeviceInfo>& devices() const { return devices_; }
  // Runs body(device) for each device at the same time, under that device's thread count; returns when all are done.
  // The body must not throw.
  void run(int devices, FunctionRef<void(int)> body);

 private:
  struct Impl;
  std::vector<DeviceInfo> devices_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace belfry
