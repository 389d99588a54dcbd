// Explicit asynchrony: load_async, store_async and their waits.
#include <fmt/format.h>

#include <utility>

#include "kernbench/error.h"
#include "kernbench/tl.h"
#include "tile/memory/tl_access.h"

namespace kernbench::tl {

using tile::access_call;
using tile::AccessCall;

AsyncLoad load_async(const Tensor& tensor, Extents offsets, Extents shape, LoadOptions options, Where where) {
  const AccessCall call = access_call("load_async", "load", where);
  return started(call, tile::load_block(call, tensor, offsets, shape, options));
}

AsyncLoad load_async(const BlockPointer& pointer, BlockOptions options, Where where) {
  const AccessCall call = access_call("load_async", "load", where);
  return started(call, tile::load_block_pointer(call, pointer, options));
}

AsyncLoad load_async(const PointerTile& pointers, LoadOptions options, Where where) {
  const AccessCall call = access_call("load_async", "gather", where);
  return started(call, tile::load_gather(call, pointers, options));
}

Token store_async(const Tensor& tensor, Extents offsets, const Tile& value, StoreOptions options, Where where) {
  const AccessCall call = access_call("store_async", "store", where);
  return started(call, tile::store_block(call, tensor, offsets, value, options));
}

Token store_async(const BlockPointer& pointer, const Tile& value, BlockOptions options, Where where) {
  const AccessCall call = access_call("store_async", "store", where);
  return started(call, tile::store_block_pointer(call, pointer, value, options));
}

void wait(const Token& token, Where where) {
  const AccessCall call = access_call("wait", "", where);
  if (!token.defined()) call.value_error("an empty token (default-constructed tl::Token) was used");
  if (token.state()->program.get() != &call.program) {
    call.value_error("the token belongs to another program; each instance waits for its own accesses");
  }
  call.program.wait_for(*token.state());
}

void wait_group(std::int64_t pending, Where where) {
  const AccessCall call = access_call("wait_group", "", where);
  if (pending < 0) call.value_error(fmt::format("{} accesses cannot be pending; give 0 or more", pending));
  call.program.wait_for_all_but(pending);
}

}  // namespace kernbench::tl
