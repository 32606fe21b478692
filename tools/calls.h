// The language of flows on the command line: "image_folder(photos) | shuffle(seed=7) | batch(32)".
//
//   calls  = call { "|" call }          call     = name [ "(" [ argument { "," argument } ] ")" ]
//   argument = [ name "=" ] text        text     = 'quoted' | "quoted" | anything without , ( ) | = and outer spaces
//
// An argument of several values has ; between them: "normalize(0.5;0.4;0.4, 0.2;0.2;0.2)".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::tools {

class Call {
 public:
  std::string name;
  std::vector<std::string> positional{};
  std::map<std::string, std::string> named{};

  // By name, or as the next positional one. An argument that was read is removed, so that check_all_used() can name the
  // rest.
  std::optional<std::string> take(const std::string& argument);
  std::string text(const std::string& argument);  // throws if it is not there
  std::string text_or(const std::string& argument, std::string_view other);
  std::int64_t whole_or(const std::string& argument, std::int64_t other);  // throws if it is not a whole number
  int count_or(const std::string& argument, int other);                    // 0 to 1000000
  double number_or(const std::string& argument, double other);             // throws if it is not a number
  std::optional<bool> flag(const std::string& argument);                   // true, false
  bool flag_or(const std::string& argument, bool other);
  std::vector<std::string> texts(const std::string& argument);  // a;b
  std::vector<std::string> texts_or(const std::string& argument, std::vector<std::string> other);
  std::vector<double> numbers(const std::string& argument);  // 1;2
  std::vector<double> numbers_or(const std::string& argument, std::vector<double> other);
  void check_all_used() const;
};

// Throws an error that shows the place if the text does not follow this grammar.
std::vector<Call> parse_calls(std::string_view text);

}  // namespace belfry::tools
