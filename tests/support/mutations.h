// Small damages to bytes, the same for the same seed: what a reader of files must survive.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>

#include "belfry/base/error.h"
#include "belfry/base/random.h"

namespace belfry::testing_support {

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  // One to four damages.
  std::string operator()(std::string bytes) {
    for (std::uint64_t left = 1 + random_.below(4); left > 0; --left) damage(bytes);
    return bytes;
  }
  bool coin() { return random_.below(2) == 0; }

 private:
  void damage(std::string& bytes) {
    const std::size_t at = place(bytes), length = 1 + below(std::min<std::size_t>(bytes.size() - at, 40));
    switch (random_.below(9)) {
      case 0: return flip(bytes, at);
      case 1: return overwrite(bytes, at, std::string(1, "\0\1\x7f\x80\xff-9[]{}\",:() "[below(18)]));
      case 2: return overwrite(bytes, at, awkward_integer(bytes.size()));
      case 3: return void(bytes.erase(at, length));
      case 4: return void(bytes.insert(place(bytes), bytes.substr(at, length)));
      case 5: return void(bytes.insert(at, awkward_integer(bytes.size())));
      case 6: return bytes.resize(at);
      case 7: return overwrite(bytes, place(bytes), bytes.substr(at, length));
      default: return replace_number(bytes, at);
    }
  }

  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_.below(limit); }
  std::size_t place(const std::string& bytes) { return below(bytes.size() + 1); }

  void flip(std::string& bytes, std::size_t at) {
    if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
  }
  void overwrite(std::string& bytes, std::size_t at, std::string_view with) {
    bytes.replace(at, std::min(with.size(), bytes.size() - at), with);
  }

  // Little-endian, of 2, 4 or 8 bytes.
  std::string awkward_integer(std::size_t size) {
    const std::array<std::uint64_t, 10> values{
        0, 1, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff, std::uint64_t{1} << 63, ~std::uint64_t{0}, size, size + 1};
    const std::uint64_t value = values[below(values.size())];
    return std::string(reinterpret_cast<const char*>(&value), std::size_t{2} << below(3));
  }

  // The first number in text from here on.
  void replace_number(std::string& bytes, std::size_t at) {
    const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    const auto begin = std::find_if(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end(), is_digit);
    const auto end = std::find_if_not(begin, bytes.end(), is_digit);
    constexpr std::array<std::string_view, 9> kNumbers{"0",
                                                       "-1",
                                                       "3",
                                                       "1e3",
                                                       "4294967296",
                                                       "2147483647",
                                                       "9223372036854775807",
                                                       "18446744073709551615",
                                                       "9999999999999999999999"};
    bytes.replace(begin, end, kNumbers[below(kNumbers.size())]);
  }

  RandomStream random_;
};

// Every damaged input is refused with an Error or read; nothing else may happen. `read` takes the bytes.
struct Survived {
  int refused = 0, read = 0;
};

template <class Damage, class Read>
Survived survive(int count, Damage&& damaged, Read&& read) {
  Survived out;
  for (int i = 0; i < count; ++i) {
    const std::string bytes = damaged();
    try {
      read(bytes);
      ++out.read;
    } catch (const InternalError& e) {
      ADD_FAILURE() << "input " << i << ": " << e.what();
    } catch (const Error&) {
      ++out.refused;
    }
  }
  return out;
}

}  // namespace belfry::testing_support
