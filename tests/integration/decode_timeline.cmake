# Run by CTest with KERNBENCH, PROTOC, SOURCE_DIR and WORK_DIR: protoc must know every field of a timeline.
file(MAKE_DIRECTORY ${WORK_DIR})
execute_process(COMMAND ${KERNBENCH} run gemm -t tiny -q -p M=64 -p N=64 -p K=64 --trace ${WORK_DIR}/timeline
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${PROTOC} --proto_path=${SOURCE_DIR} --decode=Trace timeline.proto
  INPUT_FILE ${WORK_DIR}/timeline OUTPUT_FILE ${WORK_DIR}/timeline.txt COMMAND_ERROR_IS_FATAL ANY)
# protoc prints a field that it does not know by its number.
file(STRINGS ${WORK_DIR}/timeline.txt unknown REGEX "^ *[0-9]+[:{ ]")
file(STRINGS ${WORK_DIR}/timeline.txt slices REGEX "type: TYPE_SLICE_BEGIN")
list(LENGTH slices count)
if(unknown OR count LESS 100)
  message(FATAL_ERROR "of ${count} slices, fields are unknown to protoc: ${unknown}")
endif()
