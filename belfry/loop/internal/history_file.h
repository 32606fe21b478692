// The values of a run's metrics in a file that only grows, so that a checkpoint does not have to hold them: it holds
// how far into the file they are valid. What a killed run wrote after its last checkpoint is cut off when it is
// continued.
//
//   8 bytes   "BFHIST1\n"
//   blocks    u32 length, then for each metric with new values: u16 length and bytes of its name, u32 count, and count
//             times i64 step, f64 value; all little-endian
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "belfry/loop/monitors.h"

namespace belfry {

class HistoryFile {
 public:
  using History = std::map<std::string, std::vector<Monitors::Entry>, std::less<>>;
  // Its first bytes, and their checksum.
  struct Mark {
    std::uint64_t bytes = 0;
    std::uint32_t crc = 0;
    bool operator==(const Mark&) const = default;
  };

  // What the file holds up to the mark; throws FileError if these are not the bytes that were marked.
  static History read(const std::string& path, const Mark& mark);

  HistoryFile() = default;
  // Goes on behind the mark of the file at `source`, which read() has accepted.
  HistoryFile(std::string source, const Mark& mark) : source_(std::move(source)), mark_(mark) {}

  // Appends what `history` has beyond what was written, to the file at `path`: the first time that is a new file, or
  // the source up to the mark. Returns the mark of all. Throws FileError, and then tries the same again the next time.
  Mark write(const std::string& path, const History& history);

  // How many values of each metric are written, or came from the source.
  void set_written(const History& history);

 private:
  void begin(const std::string& path);
  std::string block_of(const History& history) const;
  std::string source_{};  // where the marked bytes are; "" if there are none
  std::string path_{};    // the file that is being written, once it is
  Mark mark_{};
  std::map<std::string, std::size_t, std::less<>> written_{};
};

}  // namespace belfry
