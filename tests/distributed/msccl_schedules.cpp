#include "msccl_schedules.h"

#include <gtest/gtest.h>

#include "distributed/msccl/plan.h"
#include "distributed/msccl/schedule.h"
#include "kernbench/error.h"
#include "support/source_tree.h"

namespace kernbench::testing {

std::string msccl_path(const std::string& name) {
  return source_tree::path("collectives/msccl/" + name + ".xml");
}
std::string msccl_text(const std::string& name) {
  return source_tree::read("collectives/msccl/" + name + ".xml");
}

std::string exchange_of_halves() {
  return R"(<algo name="halves" nchannels="2" nchunksperloop="2" ngpus="2" coll="allreduce" inplace="1">
<gpu id="0" i_chunks="2" o_chunks="2" s_chunks="1">
<tb id="0" send="1" recv="1" chan="0">
<step s="0" type="s" srcbuf="i" srcoff="1"/>
<step s="1" type="rrc" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" hasdep="1"/>
</tb>
<tb id="1" send="1" recv="1" chan="1">
<step s="0" type="s" srcbuf="i" srcoff="0" depid="0" deps="1"/>
<step s="1" type="r" dstbuf="i" dstoff="1" cnt="1"/>
</tb>
</gpu>
<gpu id="1" i_chunks="2" o_chunks="2" s_chunks="1">
<tb id="0" send="0" recv="0" chan="0">
<step s="0" type="s" srcbuf="i" srcoff="0"/>
<step s="1" type="rrc" srcbuf="i" srcoff="1" dstbuf="i" dstoff="1" hasdep="1"/>
</tb>
<tb id="1" send="0" recv="0" chan="1">
<step s="0" type="s" srcbuf="i" srcoff="1" depid="0" deps="1"/>
<step s="1" type="r" dstbuf="i" dstoff="0"/>
</tb>
</gpu>
</algo>
)";
}

std::string msccl_error_of(const std::string& text) {
  try {
    distributed::msccl::plan(distributed::msccl::parse(text, "x.xml"));
  } catch (const ConfigurationError& error) {
    return error.what();
  }
  return "";
}

std::string with(const std::string& text, const std::string& from, const std::string& to, const std::string& behind) {
  const std::size_t start = text.find(behind), at = text.find(from, start);
  if (start == std::string::npos || at == std::string::npos) {
    ADD_FAILURE() << "the text has no " << from << " behind " << behind;
    return text;
  }
  return std::string(text).replace(at, from.size(), to);
}

}  // namespace kernbench::testing
