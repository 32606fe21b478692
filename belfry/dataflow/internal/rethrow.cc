#include "belfry/dataflow/internal/rethrow.h"

#include "belfry/base/check.h"
#include "belfry/base/stop_training.h"

namespace belfry {
namespace {

struct HasPlace {
  virtual ~HasPlace() = default;
};

template <class ErrorType>
struct Placed : ErrorType, HasPlace {
  using ErrorType::ErrorType;
};

}  // namespace

void rethrow_from(const std::exception_ptr& error, const std::string& place) {
  const auto text = [&](const char* what) { return fmt::format("{}: {}", place, what); };
  try {
    std::rethrow_exception(error);
  } catch (const HasPlace&) {
    throw;
  } catch (const Cancelled&) {
    throw;
  } catch (const EndOfData&) {
    throw;
  } catch (const StopTraining&) {
    throw;
  } catch (const FileError& e) {
    std::throw_with_nested(Placed<FileError>(text(e.what())));
  } catch (const NumericError& e) {
    std::throw_with_nested(Placed<NumericError>(text(e.what())));
  } catch (const InternalError& e) {
    std::throw_with_nested(Placed<InternalError>(text(e.what())));
  } catch (const std::exception& e) {
    std::throw_with_nested(Placed<Error>(text(e.what())));
  } catch (...) {
    std::throw_with_nested(Placed<Error>(text("an exception that is not a std::exception")));
  }
}

}  // namespace belfry
