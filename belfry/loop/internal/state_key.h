// What a callback's state is called in a checkpoint.
#pragma once

#include <cstddef>
#include <string>

namespace belfry {

class Trainer;

// "callback 3 MinSaver", of the callback at a place in the trainer's order.
std::string state_key(const Trainer& trainer, std::size_t place);

}  // namespace belfry
