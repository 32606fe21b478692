// The exceptions Belfry throws. Texts follow one form: "[where] expected X, got Y. Remedy."
#pragma once

#include <stdexcept>
#include <string>

#pragma GCC visibility push(default)
namespace belfry {

// A mistake in how the library was used, or something the outside world did (a bad file, a full disk).
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A broken invariant of Belfry itself. Seeing one means there is a bug to report.
class InternalError : public Error {
 public:
  using Error::Error;
};

// A file or stream that could not be read, written or trusted.
class FileError : public Error {
 public:
  using Error::Error;
};

// A value that must not be: NaN or infinity found by check_numerics, an index out of range at run time.
class NumericError : public Error {
 public:
  using Error::Error;
};

// What a run would have taken has come to its orderly end: a queue that is closed and empty.
class EndOfData : public Error {
 public:
  using Error::Error;
};

// Somebody ended a wait from outside: a queue that was cancelled.
class Cancelled : public Error {
 public:
  using Error::Error;
};

}  // namespace belfry
#pragma GCC visibility pop
