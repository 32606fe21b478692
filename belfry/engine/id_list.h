// A list of numbers that holds a few of them itself. A plan has several for each of its nodes, most of them short: in
// vectors they would be scattered over the heap, and a deep network's would not fit the processor's caches.
// Internal to engine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <utility>
#include <vector>

namespace belfry {

class IdList {
 public:
  using value_type = int;
  using iterator = int*;
  using const_iterator = const int*;

  IdList() = default;
  IdList(std::initializer_list<int> ids) { append(ids.begin(), ids.end()); }
  IdList(const std::vector<int>& ids) { append(ids.data(), ids.data() + ids.size()); }  // NOLINT: a list is a list
  template <class Iterator>
  IdList(Iterator first, Iterator last) {
    insert(end(), first, last);
  }
  IdList(const IdList& other) { append(other.begin(), other.end()); }
  IdList(IdList&& other) noexcept { take(other); }
  IdList& operator=(const IdList& other) {
    if (this == &other) return *this;
    size_ = 0;
    append(other.begin(), other.end());
    return *this;
  }
  IdList& operator=(IdList&& other) noexcept {
    if (this == &other) return *this;
    if (!is_inside()) delete[] heap_;
    take(other);
    return *this;
  }
  ~IdList() {
    if (!is_inside()) delete[] heap_;
  }
  operator std::vector<int>() const { return {begin(), end()}; }  // NOLINT

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  int* data() { return is_inside() ? inside_ : heap_; }
  const int* data() const { return is_inside() ? inside_ : heap_; }
  int* begin() { return data(); }
  int* end() { return data() + size_; }
  const int* begin() const { return data(); }
  const int* end() const { return data() + size_; }
  int& operator[](std::size_t i) { return data()[i]; }
  int operator[](std::size_t i) const { return data()[i]; }
  int& back() { return data()[size_ - 1]; }
  int front() const { return data()[0]; }
  int back() const { return data()[size_ - 1]; }

  void clear() { size_ = 0; }
  void push_back(int id) {
    reserve(size_ + 1);
    data()[size_++] = id;
  }
  void resize(std::size_t size) {
    reserve(size);
    if (size > size_) std::fill(end(), data() + size, 0);
    size_ = static_cast<std::uint32_t>(size);
  }
  template <class Iterator>
  void insert(const int* where, Iterator first, Iterator last) {
    const auto at = where - data();
    const auto count = std::distance(first, last);
    reserve(size_ + static_cast<std::size_t>(count));  // `first` is of another list
    std::copy_backward(begin() + at, end(), end() + count);
    std::copy(first, last, begin() + at);
    size_ += static_cast<std::uint32_t>(count);
  }
  void insert(const int* where, int id) { insert(where, &id, &id + 1); }
  void erase(const int* first, const int* last) {
    const auto at = first - data(), rest = last - data();
    std::copy(begin() + rest, end(), begin() + at);
    size_ -= static_cast<std::uint32_t>(rest - at);
  }
  void erase(const int* where) { erase(where, where + 1); }

  friend bool operator==(const IdList& a, const IdList& b) { return std::ranges::equal(a, b); }

 private:
  static constexpr std::uint32_t kInside = 4;

  bool is_inside() const { return room_ == kInside; }
  void append(const int* first, const int* last) { insert(end(), first, last); }
  void reserve(std::size_t size) {
    if (size <= room_) return;
    const auto room = std::max(2 * room_, static_cast<std::uint32_t>(size));
    int* const grown = new int[room];
    std::copy(begin(), end(), grown);
    if (!is_inside()) delete[] heap_;
    heap_ = grown;
    room_ = room;
  }
  // Leaves `other` empty. What this one had is gone already.
  void take(IdList& other) {
    size_ = std::exchange(other.size_, 0);
    room_ = std::exchange(other.room_, kInside);
    if (is_inside())
      std::copy(other.inside_, other.inside_ + size_, inside_);
    else
      heap_ = other.heap_;
  }

  std::uint32_t size_ = 0, room_ = kInside;
  union {
    int inside_[kInside] = {};
    int* heap_;
  };
};

template <class T>
std::size_t erase(IdList& list, const T& id) {
  const auto gone = std::ranges::remove(list, id);
  const std::size_t count = gone.size();
  list.erase(gone.begin(), gone.end());
  return count;
}

}  // namespace belfry
