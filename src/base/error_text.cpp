#include "base/error_text.h"

#include <new>

#include "base/error.h"

namespace kernbench {

ErrorText error_text(const std::exception_ptr& error, std::string_view other) {
  const std::string type(other);
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    return {known.type(), known.what(), known.where()};
  } catch (const std::bad_alloc&) {
    return {type, "the host's memory does not suffice", {}};
  } catch (const std::exception& unknown) {
    return {type, unknown.what(), {}};
  } catch (const Cancelled&) {
    return {type, "a cancelled fiber had no cause", {}};
  } catch (...) {
    return {type, "an exception that is not a std::exception", {}};
  }
}

}  // namespace kernbench
