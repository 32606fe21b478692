// The checksums of a safetensors file's tensors, made while the data come in. For safetensors_source.cc.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "belfry/base/internal/start_thread.h"
#include "belfry/session/internal/safetensors_header.h"

namespace belfry {

using NamedEntry = std::pair<const std::string, SafetensorsEntry>;

std::vector<const NamedEntry*> in_order_of_data(const SafetensorsHeader& header);

// Follows the data from their beginning, and compares the checksum of each tensor that is complete.
class TensorChecks {
 public:
  // `checksums`: of the tensors, by name. Borrows the header and the path, which is for error texts.
  TensorChecks(const SafetensorsHeader& header, std::span<const std::uint32_t> checksums, const std::string& path);

  // The data from `done` on; all before it were given already. Throws FileError.
  void take(std::span<const std::byte> data, std::uint64_t done);

 private:
  std::vector<std::pair<const NamedEntry*, std::uint32_t>> order_;  // with what is expected
  const std::string& path_;
  std::size_t next_ = 0;
  std::uint32_t crc_ = 0;
};

// The same in a thread of its own, so that a large file is read and checked at the same time.
class ChecksBehind {
 public:
  ChecksBehind(TensorChecks checks, std::span<const std::byte> data);
  ~ChecksBehind();  // ends the thread, wherever it is
  ChecksBehind(const ChecksBehind&) = delete;
  ChecksBehind& operator=(const ChecksBehind&) = delete;

  void let(std::uint64_t bytes);  // so many are there: they may be looked at, and no longer change
  void finish();                  // after all of them; throws what was found

 private:
  void follow();

  TensorChecks checks_;
  std::span<const std::byte> data_;
  std::atomic<std::uint64_t> there_ = 0;
  std::exception_ptr failure_;  // no lock: the thread's until it is joined
  std::thread thread_;
};

}  // namespace belfry
