// An error on its way to the consumer, with the place it comes from in front of its text.
#pragma once

#include <exception>
#include <string>

namespace belfry {

// Throws the exception again as one of its kind (of our own kinds; else an Error) whose text is "<place>: <its text>",
// with the original nested in it. One that has its place already is thrown as it is: the innermost stage is the one to
// name. So is what ends a wait or a training on purpose (Cancelled, EndOfData, StopTraining).
[[noreturn]] void rethrow_from(const std::exception_ptr& error, const std::string& place);

}  // namespace belfry
