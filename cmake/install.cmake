# What `cmake --install` puts in place: both libraries, headers, the pkg-config file, the command, manual pages.

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

foreach(section 1 3 5 7)
  file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/*.${section})
  if(pages)
    install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
  endif()
endforeach()
