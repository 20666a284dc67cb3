# What `cmake --install` puts in place: both libraries, headers, the pkg-config file, the CMake package, the command with
# its completions, manual pages, format pages, the bundled programs and their sources, the licence.

# The sanitized forms are for this tree's own tests.
if(NOT TASKLENS_SANITIZE)
  add_library(tasklens_shared SHARED $<TARGET_OBJECTS:tasklens_objects>)
  set_target_properties(tasklens_shared PROPERTIES OUTPUT_NAME tasklens VERSION ${PROJECT_VERSION}
                        SOVERSION ${PROJECT_VERSION_MAJOR})
  target_link_libraries(tasklens_shared PRIVATE tasklens_flags PkgConfig::XXHASH PkgConfig::YAJL)
  install(TARGETS tasklens_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(TARGETS tasklens_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tasklens DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN *.h)
if(TARGET tasklens)
  install(TARGETS tasklens RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
# The bundled programs, which `tasklens run NAME` finds.
get_property(programs GLOBAL PROPERTY TASKLENS_EXAMPLES)
if(programs)
  install(TARGETS ${programs} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/tasklens/examples)
endif()

# The .pc file finds its prefix from where it lies, so that an installed copy can be moved.
file(RELATIVE_PATH TASKLENS_PC_PREFIX /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
configure_file(${PROJECT_SOURCE_DIR}/cmake/tasklens.pc.in ${PROJECT_BINARY_DIR}/tasklens.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tasklens.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# find_package(tasklens), which finds its prefix in the same way.
set(TASKLENS_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/tasklens)
file(RELATIVE_PATH TASKLENS_CMAKE_PREFIX /p/${TASKLENS_CMAKE_DIR} /p)
configure_file(${PROJECT_SOURCE_DIR}/cmake/tasklens-config.cmake.in ${PROJECT_BINARY_DIR}/tasklens-config.cmake @ONLY)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tasklens-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tasklens-config.cmake ${PROJECT_BINARY_DIR}/tasklens-config-version.cmake
        DESTINATION ${TASKLENS_CMAKE_DIR})

# Completions, which the command makes of its own option tables.
if(TARGET tasklens)
  set(completions ${PROJECT_BINARY_DIR}/completions)
  foreach(shell bash zsh fish)
    add_custom_command(OUTPUT ${completions}/tasklens.${shell} DEPENDS tasklens
      COMMAND ${CMAKE_COMMAND} -E make_directory ${completions}
      COMMAND tasklens completion ${shell} > ${completions}/tasklens.${shell} VERBATIM)
  endforeach()
  add_custom_target(completions ALL
                    DEPENDS ${completions}/tasklens.bash ${completions}/tasklens.zsh ${completions}/tasklens.fish)
  install(FILES ${completions}/tasklens.bash RENAME tasklens
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${completions}/tasklens.zsh RENAME _tasklens DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${completions}/tasklens.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/docs/guide.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/formats DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
        PATTERN CMakeLists.txt EXCLUDE)

foreach(section 1 3 5 7)
  file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/*.${section})
  if(pages)
    install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
  endif()
endforeach()

# A page of section 3 is a family's: each function that its NAME lists leads there.
file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/*.3)
foreach(page ${pages})
  get_filename_component(family ${page} NAME)
  file(STRINGS ${page} names REGEX "^\\.Nm tl_")
  foreach(name ${names})
    string(REGEX REPLACE "^\\.Nm ([a-z0-9_]+).*" "\\1" name ${name})
    file(WRITE ${PROJECT_BINARY_DIR}/man3/${name}.3 ".so man3/${family}\n")
    install(FILES ${PROJECT_BINARY_DIR}/man3/${name}.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)
  endforeach()
endforeach()
