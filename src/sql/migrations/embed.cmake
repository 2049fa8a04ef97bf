# cmake -D DIR=migrations -D OUT=file.cpp -P embed.cmake
# Writes a C++ file with every DIR/MODULE/DIALECT/NNNN_name.sql as coffer::sql::kEmbedded, in order of version.
file(GLOB files RELATIVE ${DIR} ${DIR}/*/*/*.sql)
list(SORT files)
set(texts "")
set(rows "")
set(number 0)
foreach(file IN LISTS files)
  if(NOT file MATCHES "^([a-z]+)/(sqlite|postgres)/([0-9][0-9][0-9][0-9])_([a-z0-9_]+)\\.sql$")
    message(FATAL_ERROR "${file} is not called MODULE/sqlite|postgres/NNNN_name.sql")
  endif()
  set(module ${CMAKE_MATCH_1})
  set(dialect ${CMAKE_MATCH_2})
  set(name ${CMAKE_MATCH_4})
  string(REGEX REPLACE "^0+" "" version ${CMAKE_MATCH_3})
  if(dialect STREQUAL sqlite)
    set(dialect Dialect::kSqlite)
  else()
    set(dialect Dialect::kPostgres)
  endif()
  file(READ ${DIR}/${file} hex HEX)
  file(SHA256 ${DIR}/${file} checksum)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
  string(REGEX REPLACE "(('.x..',){16})" "\\1\n" bytes "${bytes}")
  string(APPEND texts "// ${file}\nconst char kText${number}[] = {\n${bytes}'\\0'};\n")
  string(APPEND rows "    {\"${module}\", ${dialect}, ${version}, \"${name}\",\n     \"${checksum}\",\n"
    "     {kText${number}, sizeof kText${number} - 1}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "// Made from the files under src/sql/migrations; do not edit.
#include \"sql/migrations.h\"

namespace coffer::sql {
namespace {
${texts}
const Migration kEmbedded[] = {
${rows}};
}  // namespace

std::span<const Migration> embedded_migrations() {
  return kEmbedded;
}
}  // namespace coffer::sql
")
