#include "belfry/loop/internal/history_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>
#include <string_view>

#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/base/internal/crc32c.h"
#include "belfry/base/internal/descriptor.h"

namespace belfry {
namespace {

constexpr std::string_view kMagic = "BFHIST1\n";

template <class T>
void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::uint32_t crc_of(std::string_view bytes, std::uint32_t before) {
  return crc32c(std::as_bytes(std::span(bytes.data(), bytes.size())), before);
}

// Takes values from the front of some bytes.
class Reader {
 public:
  Reader(std::string_view bytes, const std::string& path) : left_(bytes), path_(path) {}
  bool at_end() const { return left_.empty(); }
  std::string_view text(std::size_t size) {
    BELFRY_CHECK_AS(FileError, size <= left_.size(), "[history] '{}': expected {} more bytes, got {}.", path_, size,
                    left_.size());
    const std::string_view out = left_.substr(0, size);
    left_.remove_prefix(size);
    return out;
  }
  template <class T>
  T number() {
    T out{};
    std::memcpy(&out, text(sizeof out).data(), sizeof out);
    return out;
  }

 private:
  std::string_view left_;
  const std::string& path_;
};

void read_block(Reader block, HistoryFile::History& into) {
  while (!block.at_end()) {
    std::vector<Monitors::Entry>& entries = into[std::string(block.text(block.number<std::uint16_t>()))];
    for (auto count = block.number<std::uint32_t>(); count > 0; --count) {
      const auto step = block.number<std::int64_t>();
      entries.push_back({step, block.number<double>()});
    }
  }
}

void write_all(const Descriptor& file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(file.get(), bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail_system("write", path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
}

}  // namespace

HistoryFile::History HistoryFile::read(const std::string& path, const Mark& mark) {
  const MappedFile file(path);
  const std::string_view all(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  BELFRY_CHECK_AS(FileError, mark.bytes <= all.size() && mark.bytes >= kMagic.size(),
                  "[history] '{}': expected {} bytes or more, got {}. The file is cut short.", path, mark.bytes,
                  all.size());
  const std::string_view valid = all.substr(0, mark.bytes);
  BELFRY_CHECK_AS(FileError, valid.starts_with(kMagic) && crc_of(valid, 0) == mark.crc,
                  "[history] '{}': expected the history that the checkpoint was saved with, got other bytes.", path);
  History out;
  Reader blocks(valid.substr(kMagic.size()), path);
  while (!blocks.at_end()) read_block(Reader(blocks.text(blocks.number<std::uint32_t>()), path), out);
  return out;
}

void HistoryFile::set_written(const History& history) {
  for (const auto& [name, entries] : history) written_[name] = entries.size();
}

// What is beyond the mark belongs to steps that are done again, or to another run.
void HistoryFile::begin(const std::string& path) {
  std::error_code error;
  const bool same = !source_.empty() && std::filesystem::equivalent(source_, path, error);
  if (path_ == path) {  // somebody has removed it: all of it again
    source_.clear();
    written_.clear();
  }
  if (!same) {
    const std::string bytes = source_.empty() ? std::string(kMagic) : read_file(source_).substr(0, mark_.bytes);
    write_file_atomically(path, bytes);
    mark_ = {bytes.size(), crc_of(bytes, 0)};
  }
  path_ = source_ = path;
}

// The values that the file does not have yet.
std::string HistoryFile::block_of(const History& history) const {
  std::string block;
  for (const auto& [name, entries] : history) {
    const auto at = written_.find(name);
    const std::size_t known = at == written_.end() ? 0 : at->second;
    if (known >= entries.size()) continue;
    put(block, static_cast<std::uint16_t>(name.size()));
    block += name;
    put(block, static_cast<std::uint32_t>(entries.size() - known));
    for (std::size_t i = known; i < entries.size(); ++i) {
      put(block, entries[i].step);
      put(block, entries[i].value);
    }
  }
  return block;
}

HistoryFile::Mark HistoryFile::write(const std::string& path, const History& history) {
  if (path_ != path || !std::filesystem::exists(path)) begin(path);
  const std::string block = block_of(history);
  if (block.empty()) return mark_;
  std::string bytes;
  put(bytes, static_cast<std::uint32_t>(block.size()));
  bytes += block;
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) fail_system("open", path, errno);
  if (::ftruncate(file.get(), static_cast<off_t>(mark_.bytes)) != 0) fail_system("shorten", path, errno);
  if (::lseek(file.get(), 0, SEEK_END) < 0) fail_system("find the end of", path, errno);
  write_all(file, bytes, path);
  mark_ = {mark_.bytes + bytes.size(), crc_of(bytes, mark_.crc)};
  set_written(history);
  return mark_;
}

}  // namespace belfry
