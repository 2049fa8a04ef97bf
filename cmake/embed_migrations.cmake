# cmake -D DIR=migrations -D MODULE=name -D NAMESPACE=name -D FUNCTION=name -D OUT=file.cpp -P embed_migrations.cmake
# Writes a C++ file in which coffer::NAMESPACE::FUNCTION() returns every DIR/DIALECT/NNNN_name.sql as a migration of
# MODULE, in order of dialect and version, with the checksum of its text.
file(GLOB files RELATIVE ${DIR} ${DIR}/*/*.sql)
list(SORT files)
set(texts "")
set(rows "")
set(number 0)
foreach(file IN LISTS files)
  if(NOT file MATCHES "^(sqlite|postgres)/([0-9][0-9][0-9][0-9])_([a-z0-9_]+)\\.sql$")
    message(FATAL_ERROR "${DIR}/${file} is not called sqlite|postgres/NNNN_name.sql")
  endif()
  set(dialect ${CMAKE_MATCH_1})
  set(name ${CMAKE_MATCH_3})
  string(REGEX REPLACE "^0+" "" version ${CMAKE_MATCH_2})
  if(dialect STREQUAL sqlite)
    set(dialect sql::Dialect::kSqlite)
  else()
    set(dialect sql::Dialect::kPostgres)
  endif()
  file(READ ${DIR}/${file} hex HEX)
  file(SHA256 ${DIR}/${file} checksum)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
  string(REGEX REPLACE "(('.x..',){16})" "\\1\n" bytes "${bytes}")
  string(APPEND texts "// ${file}\nconst char kText${number}[] = {\n${bytes}'\\0'};\n")
  string(APPEND rows "    {\"${MODULE}\", ${dialect}, ${version}, \"${name}\",\n     \"${checksum}\",\n"
    "     {kText${number}, sizeof kText${number} - 1}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "// Made from the migrations of ${MODULE}; do not edit.
#include \"sql/migrations.h\"

namespace coffer::${NAMESPACE} {
namespace {
${texts}
const sql::Migration kEmbedded[] = {
${rows}};
}  // namespace

std::span<const sql::Migration> ${FUNCTION}() {
  return kEmbedded;
}
}  // namespace coffer::${NAMESPACE}
")
