# cupola-config.cmake - for find_package(cupola): the library, its headers, and kernels of one's own.
#
#   find_package(cupola REQUIRED)         # cmake -Dcupola_DIR=$(python -m cupola paths --cmake-dir)
#   target_link_libraries(program PRIVATE cupola::cupola)
#   cupola_add_kernels(program wave SOURCES wave.cu)
#
# Everything is found from where this file lies, so that the folder can be anywhere.

get_filename_component(_cupola_package "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
foreach(_cupola_file "lib/libcupola.so" "include/cupola/cupola.h")
  if(NOT EXISTS "${_cupola_package}/${_cupola_file}")
    set(cupola_FOUND FALSE)
    set(cupola_NOT_FOUND_MESSAGE
        "${_cupola_package}/${_cupola_file} is missing: build and install cupola again")
    return()
  endif()
endforeach()

set(cupola_LIBRARY "${_cupola_package}/lib/libcupola.so")
set(cupola_INCLUDE_DIR "${_cupola_package}/include")
set(cupola_CPU_DRIVER "${_cupola_package}/lib/cpu/libcuda.so.1")

# Global, as the function below is: who finds cupola in a subfolder may use both outside of it.
if(NOT TARGET cupola::cupola)
  add_library(cupola::cupola SHARED IMPORTED GLOBAL)
  set_target_properties(cupola::cupola PROPERTIES
    IMPORTED_LOCATION "${cupola_LIBRARY}"
    IMPORTED_SONAME "libcupola.so"
    INTERFACE_INCLUDE_DIRECTORIES "${cupola_INCLUDE_DIR}"
    INTERFACE_COMPILE_FEATURES "cxx_std_17")
endif()

# cupola_add_kernels(<target> <name> SOURCES <file.cu>...
#                    [INCLUDE <folder>...] [OPTIONS <for nvcc>...]
#                    [ARCHITECTURES <75 90 ... | all | native>])
#
# Compiles CUDA sources to <name>.fatbin and its manifest <name>.json in the binary folder,
# by the code that builds kernels of Python packages; nothing of CUDA is needed when the program
# runs. The image goes into <target>, which gets the header <name>.hpp:
#
#   cupola::kernel kernel(wave::load(), "step");    // wave::image(), wave::size(): the bytes
#
# ARCHITECTURES: machine code besides PTX; by default for the devices of this machine. The
# environment's CUPOLA_ARCHITECTURES goes first. The variables <name>_FATBIN and <name>_MANIFEST
# name the files. CUPOLA_PYTHON, a variable or one of the environment, is the Python that is run (3.10
# or newer, with pyelftools); by default the one that cupola is installed for, else any.
function(cupola_add_kernels target name)
  cmake_parse_arguments(PARSE_ARGV 2 given "" "" "SOURCES;INCLUDE;OPTIONS;ARCHITECTURES")
  if(given_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "cupola_add_kernels(${target} ${name}): unknown arguments "
                        "${given_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT TARGET ${target})
    message(FATAL_ERROR "cupola_add_kernels(${target} ${name}): there is no target ${target}")
  endif()
  if(NOT name MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
    message(FATAL_ERROR "cupola_add_kernels(${target} ${name}): the name becomes a C++ namespace")
  endif()
  if(NOT given_SOURCES)
    message(FATAL_ERROR "cupola_add_kernels(${target} ${name}): SOURCES names no .cu file")
  endif()
  # Variables of this file are not known where the function is called from another folder.
  set(script "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/kernels.py")
  if(NOT CUPOLA_PYTHON AND DEFINED ENV{CUPOLA_PYTHON})
    set(CUPOLA_PYTHON "$ENV{CUPOLA_PYTHON}")
  endif()
  # The one that the package is installed for, where it lies in its folder.
  if(NOT CUPOLA_PYTHON AND script MATCHES "^(.+)/lib/(python3[.][0-9]+)/site-packages/"
     AND EXISTS "${CMAKE_MATCH_1}/bin/${CMAKE_MATCH_2}")
    set(CUPOLA_PYTHON "${CMAKE_MATCH_1}/bin/${CMAKE_MATCH_2}")
  endif()
  if(NOT CUPOLA_PYTHON)
    find_package(Python3 3.10 REQUIRED COMPONENTS Interpreter)
    set(CUPOLA_PYTHON "${Python3_EXECUTABLE}")
  endif()

  set(arguments)
  set(sources)
  foreach(source IN LISTS given_SOURCES)
    get_filename_component(source "${source}" ABSOLUTE)
    list(APPEND sources "${source}")
  endforeach()
  foreach(folder IN LISTS given_INCLUDE)
    get_filename_component(folder "${folder}" ABSOLUTE)
    list(APPEND arguments "--include=${folder}")
  endforeach()
  foreach(option IN LISTS given_OPTIONS)
    list(APPEND arguments "--option=${option}")
  endforeach()
  if(given_ARCHITECTURES)
    string(REPLACE ";" "," architectures "${given_ARCHITECTURES}")
    list(APPEND arguments "--architectures=${architectures}")
  endif()

  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${name}.kernels")
  set(made "${folder}/${name}")
  add_custom_command(
    OUTPUT "${made}.fatbin" "${made}.json" "${made}.hpp" "${made}.image.cpp"
    COMMAND "${CUPOLA_PYTHON}" "${script}" "--name=${name}" "--title=${target}"
            "--folder=${folder}" "--depfile=${made}.d" ${arguments} ${sources}
    DEPENDS ${sources} "${script}"
    DEPFILE "${made}.d"
    COMMENT "Compiling kernels ${name}"
    VERBATIM)
  # The assembler takes the image in, which the compiler tells nobody.
  set_source_files_properties("${made}.image.cpp" PROPERTIES OBJECT_DEPENDS "${made}.fatbin")
  target_sources(${target} PRIVATE "${made}.image.cpp" "${made}.hpp")
  target_include_directories(${target} PRIVATE "${folder}")
  target_link_libraries(${target} PRIVATE cupola::cupola)
  set(${name}_FATBIN "${made}.fatbin" PARENT_SCOPE)
  set(${name}_MANIFEST "${made}.json" PARENT_SCOPE)
endfunction()

# cupola_add_package([PROJECT <folder>] [DESTINATION <folder>])
#
# Builds the kernels, operations and makers that the tables [tool.cupola] of the project's
# pyproject.toml name, and installs their files into the packages below DESTINATION: by default the
# wheel's top level under scikit-build-core. PROJECT is by default the folder of the top CMakeLists.txt.
# The Python that runs is Python_EXECUTABLE, of find_package(Python); it must have cupola[build].
# Machine code is for all targets, in an editable installation for this machine's devices; the
# environment's CUPOLA_ARCHITECTURES goes first.
function(cupola_add_package)
  cmake_parse_arguments(PARSE_ARGV 0 given "" "PROJECT;DESTINATION" "")
  if(given_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "cupola_add_package: unknown arguments ${given_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT given_PROJECT)
    set(given_PROJECT "${CMAKE_SOURCE_DIR}")
  endif()
  if(NOT given_DESTINATION)
    set(given_DESTINATION ".")
  endif()
  if(NOT Python_EXECUTABLE)
    message(FATAL_ERROR "cupola_add_package: call find_package(Python COMPONENTS Interpreter) before")
  endif()
  get_filename_component(project "${given_PROJECT}" ABSOLUTE)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/cupola.package")
  set(command "${Python_EXECUTABLE}" -m cupola build "${project}" "--into=${folder}/files"
              "--work=${folder}")
  if("$ENV{SKBUILD_STATE}" STREQUAL "editable" OR SKBUILD_STATE STREQUAL "editable")
    list(APPEND command --native)
  endif()

  # The names of the files depend on the tables alone: a change of them configures again.
  execute_process(COMMAND ${command} --list OUTPUT_VARIABLE names ERROR_VARIABLE said
                  RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "cupola_add_package: ${said}")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${project}/pyproject.toml")
  string(REPLACE "\n" ";" names "${names}")
  list(TRANSFORM names PREPEND "${folder}/files/" OUTPUT_VARIABLE made)

  add_custom_command(
    OUTPUT ${made}
    COMMAND ${command} "--depfile=${folder}/kernels.d"
    DEPENDS "${project}/pyproject.toml"
    DEPFILE "${folder}/kernels.d"
    COMMENT "Compiling kernels of ${project}"
    VERBATIM
    USES_TERMINAL)
  string(MD5 key "${folder}")
  add_custom_target(cupola_package_${key} ALL DEPENDS ${made})
  foreach(name IN LISTS names)
    get_filename_component(inside "${name}" DIRECTORY)
    install(FILES "${folder}/files/${name}" DESTINATION "${given_DESTINATION}/${inside}")
  endforeach()
endfunction()
