# cupola-config-version.cmake - the version is the Python package's; before 1.0, the minor one counts.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../version.py" _cupola_line REGEX "^__version__ = ")
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" PACKAGE_VERSION "${_cupola_line}")

set(PACKAGE_VERSION_COMPATIBLE FALSE)
set(PACKAGE_VERSION_EXACT FALSE)
string(REGEX MATCH "^[0-9]+\\.[0-9]+" _cupola_series "${PACKAGE_VERSION}")
string(REGEX MATCH "^[0-9]+\\.[0-9]+" _cupola_asked "${PACKAGE_FIND_VERSION}.0")
if(NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION
   AND _cupola_series VERSION_EQUAL _cupola_asked)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
# 64-bit Linux alone.
if(CMAKE_SIZEOF_VOID_P AND NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
  set(PACKAGE_VERSION_UNSUITABLE TRUE)
endif()
