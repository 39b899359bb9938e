from tests.mutants.run import main

main()
