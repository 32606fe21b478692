#include "tests/torture/disk_model.h"

#include <algorithm>
#include <utility>

#include "belfry/base/check.h"

namespace belfry::torture {
namespace {

constexpr unsigned kMostPending = 10;  // changes that are tried in all combinations

std::pair<std::string, std::string> split(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return {path.substr(0, slash), path.substr(slash + 1)};
}

// What both have from the start is safe; the rest may be there, or half of it, or zeros.
std::string contents(const std::string& safe, const std::string& now, int variant) {
  if (variant == 0) return safe;
  std::string out = now;
  const auto both = std::ranges::mismatch(safe, now).in1 - safe.begin();
  if (variant == 2) out.resize(static_cast<std::size_t>(both + (std::ssize(out) - both) / 2));
  if (variant == 3) std::fill(out.begin() + both, out.end(), '\0');
  return out;
}

}  // namespace

// The root is inode 0, whose path is "".
std::size_t DiskModel::at(const std::string& path) {
  if (path.empty()) return 0;
  const auto [directory, name] = split(path);
  const Inode& parent = inodes_[at(directory)];
  const auto entry = parent.entries.find(name);
  BELFRY_BUG_IF(entry == parent.entries.end(), "a call for the file '{}', which was never made", path);
  return entry->second;
}

void DiskModel::change(const std::string& directory, Inode::Change change) {
  Inode& parent = inodes_[at(directory)];
  if (!change.from.empty()) parent.entries.erase(change.from);
  if (change.removes) {
    parent.entries.erase(change.name);
  } else {
    parent.entries[change.name] = change.inode;
  }
  parent.pending.push_back(std::move(change));
}

void DiskModel::apply(const FileCall& call) {
  const auto [directory, name] = split(call.path);
  const bool is_new = (call.kind == Kind::open && call.creates && !inodes_[at(directory)].entries.contains(name)) ||
                      call.kind == Kind::mkdir;
  if (is_new) {
    inodes_.emplace_back().is_directory = call.kind == Kind::mkdir;
    change(directory, {.name = name, .from = {}, .inode = inodes_.size() - 1});
  } else if (call.kind == Kind::write) {
    std::string& bytes = inodes_[at(call.path)].now;
    bytes.resize(std::max<std::size_t>(bytes.size(), call.offset + call.data.size()));
    bytes.replace(call.offset, call.data.size(), call.data);
    inodes_[at(call.path)].written = ++clock_;
  } else if (call.kind == Kind::sync) {
    Inode& file = inodes_[at(call.path)];
    file.safe = file.now;
  } else if (call.kind == Kind::sync_directory) {
    Inode& synced = inodes_[at(call.path)];
    synced.durable = synced.entries;
    synced.pending.clear();
  } else if (call.kind == Kind::rename) {
    change(directory, {.name = split(call.to).second, .from = name, .inode = at(call.path)});
  } else if (call.kind == Kind::unlink) {
    change(directory, {.name = name, .from = {}, .inode = 0, .removes = true});
  }
}

Disk DiskModel::outcome(unsigned changes, int content) const {
  Disk out;
  unsigned bit = 0;
  std::vector<std::map<std::string, std::size_t>> entries(inodes_.size());
  for (std::size_t i = 0; i < inodes_.size(); ++i) {
    entries[i] = inodes_[i].durable;
    for (const Inode::Change& pending : inodes_[i].pending) {
      if ((changes >> std::min(bit++, kMostPending - 1) & 1) == 0) continue;
      if (!pending.from.empty()) entries[i].erase(pending.from);
      if (pending.removes) {
        entries[i].erase(pending.name);
      } else {
        entries[i][pending.name] = pending.inode;
      }
    }
  }
  const std::function<void(std::size_t, const std::string&)> list = [&](std::size_t directory,
                                                                        const std::string& path) {
    for (const auto& [name, index] : entries[directory]) {
      const Inode& inode = inodes_[index];
      const std::string full = path + "/" + name;
      if (inode.is_directory) {
        out[full + "/"];
        list(index, full);
        continue;
      }
      out[full] = {.bytes = contents(inode.safe, inode.now, content), .written = inode.written};
    }
  };
  list(0, "");
  return out;
}

void DiskModel::for_each_outcome(const std::function<void(const Disk&)>& look) const {
  unsigned pending = 0;
  bool is_synced = true;
  for (const Inode& inode : inodes_) {
    pending += static_cast<unsigned>(inode.pending.size());
    is_synced = is_synced && inode.now == inode.safe;
  }
  for (unsigned changes = 0; changes < 1u << std::min(pending, kMostPending); ++changes)
    for (int content = 0; content < (is_synced ? 1 : 4); ++content) look(outcome(changes, content));
}

}  // namespace belfry::torture
