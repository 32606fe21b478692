// AlgorithmTable: what autotune has chosen. A problem is a line of text (an op's kind, shapes, strides, ...,
// instruction set and threads), an algorithm a name that its kernel knows. Choices come from three places:
//
//   file        what this machine has timed before, read when the table is made
//   timed       by this table's session, and written to the file at once
//   checkpoint  restored along with the variables; these take precedence, so that a resumed run computes the same bits.
//               They are not written to the file: they may come from another machine.
//
// One thread at a time. Processes may share a file: each write is atomic, and a lock ("<file>.lock") lets one at a time
// add to it, so it keeps what the others have added. The first process to time a problem decides it for later programs.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace belfry {

class AlgorithmTable {
 public:
  using Choices = std::map<std::string, std::string>;  // problem -> algorithm

  enum class Source : std::uint8_t { file, timed, checkpoint };
  struct Entry {
    std::string algorithm{};
    Source source = Source::timed;
    bool used = false;      // asked for by a plan, or restored
    std::string refused{};  // the unknown algorithm that this one replaces, in the file too
  };

  // `path` empty: the user's cache (autotune_cache_file). A file that is damaged or from another machine gives a
  // warning in the log; nothing of it is used, and the next write replaces it.
  explicit AlgorithmTable(std::string path);

  // The problem's entry, which then counts as used. Null if there is none, or it names none of `known`: a file may come
  // from a version with other algorithms.
  const Entry* use(const std::string& problem, std::span<const std::string> known);
  // Adds what has just been timed.
  const Entry& add(const std::string& problem, std::string algorithm);
  // Writes what was timed to the file. A write that fails gives a warning in the log.
  void write() const;

  // What a checkpoint contains, and how it is restored.
  Choices used() const;
  void restore(const Choices& choices);

  const std::string& path() const { return path_; }
  // True on the first call only: for messages that are logged once, not for every plan.
  bool first_report() { return !std::exchange(reported_, true); }

 private:
  std::map<std::string, std::string> machine_;
  std::string path_;
  std::map<std::string, Entry> entries_;
  bool reported_ = false;
};

std::string_view name_of(AlgorithmTable::Source source);

}  // namespace belfry
