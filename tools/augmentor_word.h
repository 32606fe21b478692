// Shared by the words of augmentors.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "belfry/dataflow/image/augmentor.h"
#include "tools/flow_words.h"

namespace belfry::tools {

inline int threads_of(Call& call) { return call.count_or("threads", 0); }

// The word of an augmentor: arguments are those of the library's function, then seed and threads.
inline StageWord augmentor_word(std::vector<std::string> names, std::string usage, std::string meaning,
                                std::function<Augmentor(Call&)> make) {
  return {std::move(names), std::move(usage), std::move(meaning), [make = std::move(make)](Call& call) {
            Augmentor augmentor = make(call);
            const std::uint64_t seed = seed_of(call);
            return augment_images(std::move(augmentor), {.seed = seed, .threads = threads_of(call)});
          }};
}

}  // namespace belfry::tools
