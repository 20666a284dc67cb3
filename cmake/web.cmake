# Pages that the viewers write are built in: each file of src/analysis/web/assets and d3.min.js become an asset of its name
# (src/analysis/web/web.h). The assembler takes the bytes as they are, so a file can be of any size.
set(TASKLENS_D3 "" CACHE FILEPATH "d3.min.js of d3 version 3; found by itself where Debian's libjs-d3 is installed")
if(NOT TASKLENS_D3)
  find_file(TASKLENS_D3_FOUND d3.min.js PATHS /usr/share/javascript/d3 /usr/local/share/javascript/d3 NO_DEFAULT_PATH)
  if(NOT TASKLENS_D3_FOUND)
    message(FATAL_ERROR "d3.min.js (d3 version 3) is not here: apt-get install libjs-d3, or -DTASKLENS_D3=FILE")
  endif()
  set(TASKLENS_D3 ${TASKLENS_D3_FOUND})
endif()
file(GLOB TASKLENS_WEB_FILES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/analysis/web/assets/*)

set(text "/* Made by cmake/web.cmake. */\n#include \"analysis/web/web.h\"\n#include \"analysis/web/web_table.h\"\n")
set(rows "")
set(number 0)
foreach(file IN LISTS TASKLENS_D3 TASKLENS_WEB_FILES)
  cmake_path(GET file FILENAME name)
  string(APPEND text "TL_WEB_BYTES(${number}, \"${file}\")\n")
  string(APPEND rows "    TL_WEB_ROW(${number}, \"${name}\"),\n")
  math(EXPR number "${number} + 1")
endforeach()
string(APPEND text "const struct tl_web_asset tl__web_assets[] = {\n${rows}};\n"
       "const unsigned tl__web_asset_count = ${number};\n")
set(TASKLENS_WEB_SOURCE ${PROJECT_BINARY_DIR}/web/web_assets.c)
file(CONFIGURE OUTPUT ${TASKLENS_WEB_SOURCE} CONTENT "${text}" @ONLY) # touched only when it changes
set_source_files_properties(${TASKLENS_WEB_SOURCE} PROPERTIES OBJECT_DEPENDS "${TASKLENS_D3};${TASKLENS_WEB_FILES}")
